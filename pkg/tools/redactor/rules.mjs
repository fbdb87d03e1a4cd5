// Compiles the rules of gitleaks (tests/data/secrets-pii) and those below into
// pkg/src/redactor/rules.ts: anchors, classes and lengths that a scanner without backtracking reads.
//
//   node pkg/tools/redactor/rules.mjs [--check]
//
// An update of the rules is a new file of data and a run of this script. A rule that does not
// compile fails it, unless LEFT_OUT says why.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from './expression.mjs'
import { root } from '../../../scripts/setup.mjs'

const LEFT_OUT = {
  'curl-auth-header': 'the rules bearer, basic and assignment have it in any context',
  'curl-auth-user': 'the rule curl-user',
  'facebook-access-token': 'starts with digits of any number',
  'kubernetes-secret-yaml': 'a file, read from both ends',
  'nuget-config-password': 'a file',
  'hashicorp-tf-password': 'the rule assignment has it in any file',
  'freemius-secret-key': 'the rule assignment has it in any file',
  'pkcs12-file': 'a file',
  'generic-api-key': 'pkg/src/redactor/context.ts and secret-value.ts',
  'private-key': 'pkg/src/redactor/anchored.ts, to its end',
  'sidekiq-sensitive-url': 'the rule url-password',
  // Their expressions take any case, the services do not.
  'digitalocean-refresh-token': 'the beginning dor_v1_',
  'grafana-cloud-api-token': 'the rule grafana-cloud',
  'grafana-service-account-token': 'the beginning glsa_',
  'huggingface-access-token': 'the rule huggingface-key',
  'slack-bot-token': 'the beginning xoxb-',
  'slack-config-access-token': 'the beginning xoxe.',
  'slack-config-refresh-token': 'the beginning xoxe-',
  'slack-legacy-bot-token': 'the beginning xoxb-',
  'slack-legacy-token': 'the beginnings xoxo- and xoxs-',
  'slack-legacy-workspace-token': 'the beginnings xoxa- and xoxr-',
  'slack-user-token': 'the beginnings xoxp- and xoxe-',
  'sourcegraph-access-token': 'the beginning sgp_',
  jwt: 'the rule jwt-of-any',
}

/** Rules whose expression needs backtracking, or is not anchored; said otherwise here. */
const INSTEAD = {
  'openai-api-key': '\\b(sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,})',
  'jwt-base64': '\\bZXlKa?[a-zA-Z0-9/\\\\_+-]{60,}={0,2}',
  'sentry-org-token': '\\bsntrys_eyJpYXQiO[a-zA-Z0-9+/=_]{60,}',
  'microsoft-teams-webhook': '\\.webhook\\.office\\.com/webhookb2/[a-zA-Z0-9@/-]{80,}',
  'slack-webhook-url': 'hooks\\.slack\\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,}',
  'gitlab-pat-routable': '\\bglpat-[0-9a-zA-Z_-]{27,300}\\.[0-9a-z]{9}',
  'azure-ad-client-secret': '([a-zA-Z0-9_~.]{3}[0-9]Q~[a-zA-Z0-9_~.-]{31,34})',
  'aws-amazon-bedrock-api-key-short-lived':
    'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[A-Za-z0-9+/=_-]*',
  'twilio-api-key': '\\b((?:SK|AC)[0-9a-fA-F]{32})\\b',
  'aws-access-token': '\\b((?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\\b',
  '1password-service-account-token': '\\bops_eyJ[a-zA-Z0-9+/]{250,}',
  '1password-secret-key': '\\bA3-[A-Z0-9]{6}-[A-Z0-9]{6}[A-Z0-9-]{23,24}\\b',
  'authress-service-client-access-key':
    '\\b((?:sc|ext|scauth|authress)_(?i)[a-z0-9]{5,30}\\.[a-z0-9]{4,6}\\.(?-i:acc)[_-][a-z0-9-]{10,32}\\.[a-z0-9+/_=-]{30,})',
  'vault-batch-token': '\\b(hvb\\.[\\w-]{100,})',
}

/** The words of a context, where the expression has more of them than tell. */
const WORDS = {
  'snyk-api-token': ['snyk'],
  'telegram-bot-api-token': ['telegram'],
  'nytimes-access-token': ['nytimes'],
  'sidekiq-secret': ['contribsys__com'],
  'sonar-api-token': ['sonar'],
  'mailchimp-api-key': ['mailchimp'],
}

/** Beginnings of keys of one service, as it documents them; at least 10 characters follow. */
export const BEGINS = (
  'fo1_ tk-us- nvapi- tgp_v1_ llx- ' +
  'lsv2_pt_ lsv2_sk_ tvly- AIza ya29. GOCSPX- bedrock-api-key- ghp_ gho_ ghu_ ' +
  'ghs_ ghr_ github_pat_ glpat- glrt- glptt- gldt- glft- glffct- glsoat- glimt- glagent- glcbt- ' +
  'gloas- glwt- glrtr- GR1348941 _gitlab_session= BBDC- sq0csp- sq0idp- sq0atp- sk_live_ ' +
  'sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ whsec_ rzp_live_ rzp_test_ FLWSECK_TEST- ' +
  'FLWPUBK_TEST- shpat_ shpca_ shppa_ shpss_ shptka_ shippo_live_ shippo_test_ duffel_live_ ' +
  'duffel_test_ xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- pypi-AgEIcHlwaS5vcmc rubygems_ ' +
  'dckr_pat_ dckr_oat_ SWMTKN-1- dop_v1_ doo_v1_ dor_v1_ cfat_ cfut_ HRKU- hvs. ' +
  'hvb. hvr. dp.pt. dp.ct. dp.st. dp.sa. tskey- sbp_v0_ sb_secret_ ' +
  'pscale_pw_ pcsk_ dt0c01. NRAK- NRII- NRJS- ' +
  'phx_ phs_ pha_ phr_ glsa_ sntryu_ CCIPAT_ PMAK- PMAT- lin_api_ ' +
  'ntn_ figd_ CFPAT- xkeysib- xsmtpsib- apify_api_ dnkey- fio-u- ' +
  'sha256~ s-s4t2ud- s-s4t2af- sm_aat_ sm_pat_ sm_sat_ ' +
  'django-insecure-'
).match(/\S+/g)
/** Those that words begin with, too: 10 letters and digits follow. */
export const BEGINS_PLAIN = (
  'xai- csk- pul- ico- rnd_ e2b_ r8_ tfp_ aio_ dapi sgp_ cfk_ pnu_ rpa_ ' +
  'da2- squ_ sqp_ sqa_ jina_ sbp_ EZAK EZTK api_org_ bkua_ nfp_ gsk_ rdme_ vcp_ vci_ vca_ ' +
  'vcr_ vck_ '
).match(/\S+/g)

/** Rules of ours, as expressions of the same kind: [name, expression, entropy]. */
const OURS = [
  ['openai-key', '\\b(sk-[A-Za-z0-9_-]{20,})', 3.2, 'm'],
  ['fireworks-key', '\\b(fw_[A-Za-z0-9]{20,})', 3, 'm'],
  ['huggingface-key', '\\b(hf_[A-Za-z0-9]{30,})', 3, 'm'],
  ['azure-storage-key', '(?i)accountkey=([a-z0-9+/]{86}={2})', 3],
  ['npm-auth-token', '(?i)_authtoken\\s?=\\s?([a-z0-9_.+/=-]{10,})', 2, 'm'],
  ['mailchimp-key', '\\b([0-9a-f]{32}-us[0-9]{1,2})\\b', 2],
  ['telegram-token', '([0-9]{8,10}:AA[A-Za-z0-9_-]{33,})', 3],
  ['grafana-cloud', '\\b(glc_[A-Za-z0-9+/=]{32,})', 3],
  [
    'discord-token',
    '\\b((?:M|N|O)[A-Za-z0-9_-]{23,25}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38})\\b',
    3.5,
  ],
  ['bearer', '(?i)\\bbearer[ ]{1,3}([a-z0-9._~+/=-]{14,})', 3, 'm'],
  ['basic', '(?i)\\bauthorization["\']{0,1}:[ ]{0,3}["\']{0,1}basic[ ]([a-z0-9+/=]{8,})', 2],
  ['docker-auth', '"auth"\\s?:\\s?"([A-Za-z0-9+/=]{8,})', 2.5, 'm'],
  ['jwt-of-any', '\\b(eyJ[\\w-]{10,512}\\.[\\w.-]{10,})', 3],
  ['sas-signature', '(?i)[?&]sig=([a-z0-9%+/]{43,})', 3],
  ['aws-signature', '(?i)[?&]x-amz-signature=([0-9a-f]{64})', 3],
  ['discord-webhook', 'com/api/webhooks/([0-9]{16,20}/[\\w-]{60,})', 3],
  ['password-hash', '(\\$2[aby]\\$[0-9]{2}\\$[./A-Za-z0-9]{53})', 3],
  ['password-hash-of-any', '(\\$[156]\\$[./A-Za-z0-9=$]{30,})', 3],
  ['argon-hash', '(\\$argon2[a-z]{1,2}\\$[\\w=,$+/]{40,})', 3],
  // PEM in base64, but for certificates.
  [
    'pem-in-base64',
    '\\b(LS0tLS1CRUdJTiB(?:SU0|QUk|FQy|PUE|FTk|QR1AgUF|EU0)[A-Za-z0-9+/=]{20,})',
    3,
  ],
  ['putty-key', '(?i)private-lines: [0-9]{1,3}\\s{1,3}([a-z0-9+/=\\s]{40,})', 3],
  ['google-refresh-token', '\\b(1//0[\\w-]{30,})', 3],
  ['dropbox-token', '\\b(sl\\.[\\w-]{100,})', 3],
  ['bitbucket-password', '\\b(ATBB[\\w-]{24,})', 3],
  ['atlassian-token', '\\b(AT[AC]TT3xFf[\\w-]{20,512}[=%]?[\\w-]{0,512})', 3],
  ['mailgun-key', '\\b(key-[0-9a-f]{32})\\b', 3],
  ['url-password', '://[^\\s/?#@:"\'<>\\[]{0,128}:([^\\s/?#@"\'<>]{1,128})@', 0, 'u'],
  // What curl is given, which stands before it: as it is, and in quotes, escaped ones too.
  ...['-u', '--user', '--proxy-user'].flatMap((option) => [
    [
      'curl-user',
      `\\s${option}[=\\s]{0,5}([^\\s:"'|&;\\\\<({\\[]{1,128}:[^\\s"'|&;\\\\]{0,128})`,
      0,
      'k',
    ],
    [
      'curl-user',
      `\\s${option}[=\\s]{0,5}["'\\\\]+([^:"'\\r\\n\\\\<({\\[]{1,128}:[^"'\\r\\n\\\\]{0,128})`,
      0,
      'k',
    ],
  ]),
  // What begins so is a key whatever follows.
  ...[...BEGINS, ...BEGINS_PLAIN].map((text) => [
    `${text}…`,
    `\\b(${text.replaceAll('.', '\\.')}${BEGINS.includes(text) ? '[\\w=-]' : '[A-Za-z0-9]'}{10}[\\w=~-]*)`,
    2.5,
    'm',
  ]),
]

const CONTEXT =
  '(?:[ \\t\\w.-]{0,20})[\\s\'"]{0,3}(?:=|>|:{1,3}=|\\|\\||:|=>|\\?=|,)[\\x60\'"\\s=]{0,5}'
/** The same, where its middle is in a group of its own. */
const GROUPED = CONTEXT.replace('{0,3}', '{0,3})')
const BEFORE = '[\\w.-]{0,50}?'
/** What ends a secret: the scanner knows (`ends`). */
const ENDS = [
  /\(\?:\[\\x60'"\\s;\]\|\\\\\[nr\]\|\$(\|\\b)?\)/g,
  /\(\?:\$\|\[\\\\'"\\x60\\s<\),\]\)/g,
  /\(\?:\[\^[^\]]+\]\|\\z\)/g,
]
/** The most of an unbounded run that stands within a secret. */
const MOST = 512
/** Anchors of so many characters are told from words, and need no end. */
const TELLING = 4

const classes = []
const classOf = (set) => {
  const index = classes.indexOf(set)
  return index >= 0 ? index : classes.push(set) - 1
}
const lower = (set) => set[set.length - 1].toLowerCase()
/** Whether a set is one letter, of one or both cases. */
const literal = ({ set }) =>
  set.length === 1 || (set.length === 2 && set[0].toLowerCase() === set[1] && set[0] !== set[1])
const isLiteral = (atom) => atom.set !== undefined && literal(atom) && atom.min === atom.max

/** Writes atoms: `=text` (as it is), `~text` (in any case), `<class>.<min>[-<max>|+]`. */
function write(atoms) {
  const words = []
  for (const { mark, set, min, max } of atoms) {
    if (mark) {
      if (mark !== 'b') words.push(mark)
    } else if (set.length <= 2 && isLiteral({ set, min, max })) {
      const sign = set.length === 1 ? '=' : '~'
      const spelling = lower(set) === set[0].toLowerCase() && set.length === 2 ? lower(set) : set
      const last = words.at(-1)
      const more = spelling.repeat(min)
      if (last?.[0] === sign) words[words.length - 1] += more
      else words.push(sign + more)
    } else {
      const most = max === Infinity ? MOST : max
      words.push(
        `${classOf(set).toString(36)}.${min}${most === min ? '' : most === MOST ? '+' : `-${most}`}`,
      )
    }
  }
  return words.join(' ')
}

/** The text of the longest run of literals, and where it stands. */
function anchorOf(atoms) {
  let best = { text: '', from: 0, to: 0 }
  for (let from = 0; from < atoms.length; from++) {
    let text = ''
    let to = from
    while (to < atoms.length && (atoms[to].mark || isLiteral(atoms[to]))) {
      if (!atoms[to].mark) text += lower(atoms[to].set).repeat(atoms[to].min)
      to++
    }
    // What stands first is best: nothing is read backwards.
    if (text && (best.text === '' || (text.length > best.text.length && best.text.length < 2)))
      best = { text, from, to }
    from = to
  }
  return best
}

/** What keys consist of, in base64 or not: where a secret ends, a wider set does no harm. */
const [BASE64, OTHER] = [/[\w+/=~-]/, /[\w=~-]/].map((set) =>
  [...Array(128).keys()]
    .map((code) => String.fromCharCode(code))
    .filter((one) => set.test(one))
    .join(''),
)
const widened = (atoms) =>
  atoms.map((atom, at) => {
    const { set } = atom
    const isLast = atoms.slice(at + 1).every(({ mark }) => mark)
    if (!set || !isLast || !/[^a-z0-9]/i.test(set)) return atom
    const wide = [OTHER, BASE64].find((wide) => [...set].every((one) => wide.includes(one)))
    return { ...atom, set: wide ?? set }
  })

/** What a rule looks for: the words of its context, if it has one, and its secret. */
function partsOf(name, expression) {
  let text = expression
  for (const end of ENDS) text = text.replaceAll(end, '')
  const strict = text !== expression
  for (const context of [CONTEXT, GROUPED]) {
    const at = text.indexOf(context)
    if (at < 0) continue
    const fold = text.includes('(?i)')
    const keys = text
      .slice(0, at)
      .replaceAll(BEFORE, '')
      .replace(/^\(\?i\)/, '')
      .replace(/^\(\?i:/, '')
    const words = WORDS[name] ?? [...new Set(parse(keys).flatMap(spellings))]
    return { words, strict, secret: (fold ? '(?i)' : '') + text.slice(at + context.length) }
  }
  return { words: [], strict, secret: text }
}

/**
 * Services whose keys are known by their name alone, and may be a UUID, digits or hold a colon. Others
 * are named with a word of a secret, by which pkg/src/redactor/context.ts knows them.
 */
const SERVICES =
  'algolia asana bitbucket cloudflare confluent contribsys__com discord facebook heroku hubspot jira ' +
  'kraken kucoin linear mailchimp mailgun meraki messagebird message-bird message_bird okta sendbird sentry snyk sonar squarespace telegram twitter'

function rowsOf(name, expression, entropy, flags = '') {
  const { words, strict, secret } = partsOf(name, expression)
  // By its context: `SERVICES`, and the words of any secret.
  if (words.length > 0) return []
  return parse(secret).flatMap((atoms) => {
    const starts = atoms.findIndex((atom) => atom.set)
    const boundary = atoms.slice(0, starts).some(({ mark }) => mark === 'b')
    const ends = strict || atoms.at(-1).mark === 'b' || atoms.at(-2)?.mark === 'b'
    // A group around all is none.
    const inner = atoms.filter(({ mark }) => mark !== 'b')
    const first = inner.findIndex((atom) => atom.set)
    const opened = inner.slice(0, first).length
    const hasPrefix = opened > 0
    const plain = hasPrefix ? unmarked(inner) : inner
    const { text: anchor, from, to } = anchorOf(plain)
    if (!anchor) throw new Error(`${name} has no anchor`)
    const before = plain.slice(0, from)
    // The scanner keeps no more of what it has shown.
    if (before.reduce((sum, { max = 0 }) => sum + max, 0) > 64)
      throw new Error(`${name} goes far back`)
    const exact = plain.slice(from, to)
    const cased = exact.some(({ set }) => set && set.length === 1 && /[a-z]/i.test(set))
    const telling = anchor.length >= TELLING && !before.length
    const last = unmarked(plain).at(-1)
    const open = last.max === Infinity || (telling && last.set.length > 2)
    const ruleFlags =
      flags + (boundary ? 'b' : '') + (ends && !telling && !open ? 'e' : '') + (open ? 'o' : '')
    return [
      [
        name,
        ruleFlags,
        entropy,
        cased
          ? `=${exact.map(({ set, min }) => (set ? literalOf(set).repeat(min) : '')).join('')}`
          : anchor,
        write(before),
        write([
          ...exact.filter(({ mark }) => mark),
          ...(open ? widened(plain.slice(to)) : plain.slice(to)),
        ]),
      ],
    ]
  })
}
/** All texts that a list of letters may be, in lower case. */
function spellings(atoms) {
  return unmarked(atoms).reduce(
    (all, { set, min }) => {
      const ones = [...new Set([...set].map((one) => one.toLowerCase()))]
      if (ones.length > 2) throw new Error('words that are not told')
      const more = min === 0 ? ['', ...ones] : ones
      return all.flatMap((one) => more.map((other) => one + other))
    },
    [''],
  )
}
const unmarked = (atoms) => atoms.filter(({ mark }) => !mark)
const literalOf = (set) => (set.length === 1 ? set : set[1])

const gitleaks = JSON.parse(
  readFileSync(join(root, 'tests/data/secrets-pii/gitleaks-rules.json'), 'utf8'),
)
const compiled = gitleaks.filter(({ id }) => !(id in LEFT_OUT))

/**
 * What samples of a rule are made of: the original expression of gitleaks where it can be read, with
 * the words of its context.
 */
export const SAMPLED = [
  ...OURS.map(([name, regex, entropy]) => ({ name, regex, entropy })),
  ...compiled.map(({ id, regex, entropy }) => ({ name: id, regex, entropy: entropy ?? 0 })),
].map(({ name, regex, entropy }) => {
  const { words, secret } = partsOf(name, regex)
  try {
    return { name, entropy, words, alternatives: parse(secret) }
  } catch {
    return { name, entropy, words, alternatives: parse(INSTEAD[name]) }
  }
})

const begun = ([, , , anchor]) =>
  ['sk-', ...BEGINS, ...BEGINS_PLAIN].some((text) => anchor.startsWith(`=${text}`))
const rows = [
  ...OURS,
  ...compiled.map(({ id, regex, entropy }) => [id, INSTEAD[id] ?? regex, entropy ?? 0]),
].flatMap((rule) => {
  try {
    return rowsOf(...rule).filter((row) => OURS.includes(rule) || !begun(row))
  } catch (error) {
    throw new Error(`${rule[0]}: ${error.message}`)
  }
})

// Rules that differ in their words alone are one row.
const table = new Map()
for (const [name, flags, entropy, anchor, before, follows] of rows) {
  const cased = anchor.startsWith('=')
  const key = JSON.stringify([flags, entropy, before, follows, cased])
  if (!table.has(key)) table.set(key, { names: new Set(), anchors: new Set() })
  table.get(key).names.add(name)
  table.get(key).anchors.add(cased ? anchor.slice(1) : anchor)
}
const quoted = (text) => JSON.stringify(text)
const lines = [...table].flatMap(([key, { names, anchors }]) => {
  const [flags, entropy, before, follows, cased] = JSON.parse(key)
  // What most rules are needs no flag: they know cases and borders, and go on.
  const rest = [
    cased ? '' : 'i',
    flags.includes('b') ? '' : 'f',
    flags.includes('o') ? '' : 'c',
    ...[...flags].filter((flag) => 'ekmu'.includes(flag)),
  ].join('')
  const row = [[...anchors].join('|'), follows, before, rest, entropy === 3 ? '' : entropy]
    .join('\x60')
    .replace(/\x60+$/, '')
  return [`  // ${[...names].join(', ')}`, `  ${quoted(row)},`]
})
// A copy of the rules carries their licence.
const licence = readFileSync(join(root, 'tests/data/secrets-pii/LICENSE.txt'), 'utf8')
const body = [
  '/**',
  ' * Written by pkg/tools/redactor/rules.mjs from rules of gitleaks and those in the script. gitleaks:',
  ...licence
    .trim()
    .split('\n')
    .map((text) => ` * ${text}`.trimEnd()),
  ' */',
  '',
  '/** Sets of ASCII characters, as pairs: from, to. */',
  `export const CLASSES: readonly string[] = [`,
  ...classes.map((set) => `  ${quoted(ranges(set))},`),
  ']',
  '',
  '/** Rules: anchors, what follows, what stands before, flags, entropy (see `tables.ts`). */',
  `export const RULES: readonly string[] = [`,
  ...lines,
  ']',
  '',
  '/** Services whose keys are known by their name alone. */',
  `export const SERVICES = ${quoted(SERVICES)}`,
  '',
].join('\n')

/** A set as pairs of characters: from, to. */
function ranges(set) {
  let text = ''
  for (let at = 0; at < set.length;) {
    let to = at
    while (to + 1 < set.length && set.charCodeAt(to + 1) === set.charCodeAt(to) + 1) to++
    text += set[at] + set[to]
    at = to + 1
  }
  return text
}

const path = join(root, 'pkg/src/redactor/rules.ts')
const isMain = import.meta.url === pathToFileURL(process.argv[1] ?? '').href
if (isMain && process.argv.includes('--check')) {
  if (readFileSync(path, 'utf8') !== body) {
    console.log('not ok - pkg/src/redactor/rules.ts is stale: node pkg/tools/redactor/rules.mjs')
    process.exit(1)
  }
  console.log(`${table.size} rows of ${SAMPLED.length} rules are up to date`)
} else if (isMain) writeFileSync(path, body)
