/** Tells versions, sections and identifiers of four numbers from IPv4 addresses, by what is around them. */
import { back, unknown, WAIT, type View } from './view.js'

/** Characters before a number that are read, and after it. */
const [BEFORE, AFTER] = [80, 14]

/** Quotes, at any level of JSON. */
const QUOTES = '(?:\\\\{0,7}["\'`]){0,2}'
const capital = (list: string) =>
  list.replace(/(^|\|)(\p{Ll})/gu, (_, bar: string, one: string) => bar + one.toUpperCase())
/** A list in small and capital letters, and with capitals. */
const cased = (list: string) => `${list}|${list.toUpperCase()}|${capital(list)}`
/** Marks of Markdown around a name or a number. */
const MARKS = '[*_]{0,2}'
/** What a word may go on with: `version number`, `versionName`, `release notes for`. */
const MORE = `(?:[ _-]?(?:${cased('number|string|name|code|id|label|tag|candidate|notes?')}|no\\.?|nr\\.?)(?: for)?)?`
/** What stands between a word and its number: `version: "`, `Version("`, `version is `, `| Version | `. */
const GAP =
  `${MORE}${QUOTES}${MARKS}` +
  `(?:\\.?[ \\t]{0,3}\\(?|[ \\t]{0,3}(?:=>|:=|[:=#>(：|])${MARKS}[ \\t]{0,3}[[#]?|:?[ \\t]?(?:</?[a-z][^<>]{0,20}>[ \\t]?){1,4}| (?:is|was|ist|est|es|är|er) )` +
  `${MARKS}${QUOTES}[vV^~=]?`
/** Numbers of a range or a list before this one. */
const NUMBER = `v?\\d+(?:\\.\\d+)+${QUOTES}`
const RANGE = `${NUMBER}(?: (?:to|through|until|and|or|bis|und|à|et|y|e|a) | ?[-–] ?)${QUOTES}v?`
const LIST = `(?:${NUMBER}(?:,? (?:and|or|und|et|y|e) |[,;] ?)${QUOTES}v?){1,6}`

/** Words in small or capital letters, or as a part of a name: `fileVersion`, `FILE_VERSION`. */
const named = (list: string, before = '') =>
  `(?:(?:^|[^\\p{L}\\p{N}${before}])(?:${cased(list)})|\\p{Ll}(?:${capital(list)}))`
const ends = (pattern: string) => new RegExp(`${pattern}$`, 'u')

const SECTIONS =
  'section|sect?|subsection|chapter|chap|clause|paragraph|appendix|annex|article|heading|abschnitt|kapitel|absatz|ziffer|' +
  'chapitre|sección|seccion|capítulo|capitulo|seção|secao|sezione|capitolo|hoofdstuk|rozdział|раздел|глава|пункт|bölüm|' +
  'avsnitt|kapittel|luku|kapitola|chương|розділ|ενότητα|κεφάλαιο|סעיף|פרק|القسم|الفصل|अध्याय|' +
  'sub-section|figure|fig|equation|eqn?|listing|theorem|lemma|corollary|proposition|abbildung|abb|gleichung|figura|' +
  'équation|rysunek|рисунок|рис|obrázek|şekil|그림|hình'
/** Other parts of documents, which may also stand before addresses. */
const PARTS =
  'table|tab|step|exercise|requirement|req|definition|algorithm|tabelle|tableau|tabla|tabela|tabella|таблица|табл|표|' +
  'schritt|étape|paso|etapa|шаг|patch|tag|milestone|sdk|plugin|module|package|library|schema|protocol'
/** Those that are parts of documents with a capital only: "an example 8.8.8.8". */
const TITLES = 'Example|Item|Part|Rule|Control|Question|Point'
const VERSIONS =
  'version|vers|ver|semver|versión|versao|versão|versione|versie|wersja|версия|версія|sürüm|verze|versi|phiên bản|έκδοση|' +
  'גרסה|الإصدار|إصدار|संस्करण|버전'
const PLURALS =
  'versions|sections|chapters|clauses|releases|builds|figures|figs|tables|equations|versionen|abschnitte|versiones'

/** Names of versions and of parts of documents: what follows is no address. */
const STRONG = [
  ends(named(`${VERSIONS}|${SECTIONS}|oid|object identifier`) + GAP),
  // `-v` asks for more words: `ping -v 10.0.0.1`. Behind `v` and a space an address may stand.
  ends(`${named('v', '-')}(?!\\.?[ \\t]+$)${GAP}`),
  ends(named(PLURALS) + GAP),
  /(?:§{1,2}|版本|版|章|節|节|バージョン|第|[図图圖表]) ?(?:[:：] ?)?$/,
  // `library-v1.2.3.4`
  /[\p{L}\p{N}]-v$/u,
  // The number of a heading, and an identifier of an object.
  /(?:(?:^|[\n\r])#{1,6} \[?v?|<h[1-6][^<>]{0,40}>|urn:oid:)$/i,
  // Products that clients and servers name, and folders of releases.
  /(?:^|[\s("';,])(?:chrom(?:e|ium)|headlesschrome|firefox|safari|version|edga?|opr|opera|vivaldi|brave|electron|applewebkit|gecko|mozilla|curl|wget|python|python-requests|okhttp|axios|git|npm|yarn|pnpm|java|go-http-client|ruby|php|openssl|nginx|apache|microsoft-iis|cfnetwork|darwin|postmanruntime)\/v?$/i,
  /\b(?:releases?|tags?|versions?)\/(?:tag\/|download\/)?v?$/i,
]

/** Words that also stand before addresses: before those of private networks they decide nothing. */
const WEAK = [
  ends(
    named(
      'release|revision|rev|build|firmware|fw|driver|kernel|hotfix|assembly|changelog|chrome|chromium|firefox|safari|electron|' +
        'android|ios|macos|java|jdk|jre|python|openssl|openSSL|gcc|clang|cuda|unity|acrobat|oracle(?: [dD]atabase)?|windows|\\.net',
    ) + GAP,
  ),
  ends(
    named(`upgrade|upgraded|downgrade|downgraded|update|updated|bump|bumped|${VERSIONS}`) +
      ` (?:to|from) v?(?:${RANGE})?`,
  ),
  ends(named(`${VERSIONS}|${SECTIONS}`) + GAP + RANGE),
  ends(named(PLURALS) + GAP + `(?:${LIST}|${RANGE})`),
  /§{1,2} ?(?:\d+(?:\.\d+)+(?:, ?| (?:and|or|und|to|bis) |[-–])){1,6}$/,
  // `com.example:library:1.2.3.4`, `FROM library/name:1.2.3.4`.
  /(?:^|[\s"'`(])[a-z][\w-]*(?:\.[\w-]+)+:[\w.-]+:$/,
  /(?:FROM|image:|docker (?:pull|run)) ["']?[\w./-]+:$/,
]
/** `library==1.2.3.4`, `library >= 1.2.3.4`, `"library": "^1.2.3.4"`; but no `ip.addr == 10.0.0.1`. */
const COMPARED =
  /([\w.\]-]{0,40})["']?(?: ?(?:===?|[<>~!]=|~>) ?["']?|[:=]? ?["']?[~^] ?|(?:(?<=[a-z]) ?|[:=] ?["'])[<>]=? ?)$/i
/** A tag of HTML, or an arrow: no comparison. */
const NO_COMPARISON = /<[^<>]{1,60}> ?$|[-=]> ?$/
const OF_ADDRESS = /ip|addr|host|src|dst|server|remote|client|gateway|peer|node|dns|net/i

/** Words of which the number is one of a version or a part, where it looks like one. */
const NAMED = [
  // The tables of networks have addresses.
  ends(
    `(?<!(?:rout(?:e|ing)|forwarding|lookup|address|hosts?|arp|nat|dns|ip))${named(PARTS)}${GAP}`,
  ),
  ends(`(?:^|[^\\p{L}\\p{N}])(?:${TITLES}|${TITLES.toUpperCase()})${GAP}`),
  ends(`${named('v', '-')}\\.?[ \\t]{1,3}`),
  // Javadoc.
  /@since v?$/,
  /\binstall(?:ed)? [^\n]{0,60}[\w+]=$/,
]
/** `name@1.2.3.4`, `name-1.2.3.4`, `name_1.2.3.4`. */
const JOINED = /(?:^|[^\p{L}\p{N}\w@./+:-])["'`]?([@\p{L}][\p{L}\w./+:-]*)([@_-])$/u
const words = (list: string) => new Set(list.split(' '))
/** Parts of names of hosts: an address may be joined to them. */
const HOSTS = words(
  'ip ipv4 addr address host hostname src dst server srv remote client gateway gw peer node dns ns net network vpn db web ' +
    'vm vps fw lb proxy router switch box worker master slave primary replica edge ban banned block blocked allow allowed ' +
    'deny denied user users login ssh sshd http https tcp udp mail smtp rdp nat lan wan site bastion jump machine pc desktop ' +
    'laptop printer camera from to at by via on in and or of not route range subnet ping trace scan attacker bot visitor ' +
    'guest session cluster pod instance ec2 compute droplet prod staging upstream backend origin',
)
/** Users that log in. */
const USERS = words(
  'root admin administrator ubuntu debian centos fedora git deploy deployer pi postgres mysql oracle ftp anonymous test dev ' +
    'ops vagrant jenkins www nobody service support info sip alice bob carol dave eve ada john jane jdoe max anna tom',
)
/** Commands and messages of connections, before a name with `@`. */
const CONNECTS =
  /\b(?:ssh|scp|sftp|rsync|mosh|telnet|ftp|login|logged|connect\w*|denied|session|accepted|failed|password|auth\w*)\b|\/\/|\bsips?:|\bmailto:/i

/** What follows the number of a version. */
const SUFFIX =
  /^[-+_.]?(?:alpha|beta|rc|pre|preview|snapshot|dev|release|final|hotfix|nightly|ga|sp|build|canary|stable|lts|x86|x64|amd64|arm64|linux|windows|darwin|macos)[\d.]*(?![a-z])|^-\d{1,4}(?:ubuntu|\+deb|~|\.(?:fc|el)\d)/i
const LATER = /^ (?:release|version|firmware|hotfix|update)(?![a-z])/i
const BEFORE_LATER = /\b(?:the|an?|our|this|latest|new|in|with) $/i
const BEGUN =
  /^(?:[-+_]?[a-z]{0,9}\d*|[-+_]|[-+_]x\d*| [a-z]{0,9}|[:/]|'s?| ~|-\d{1,4}(?:[.+][a-z]{0,3}|[a-z]{0,6}))$/i

const PRIVATE =
  /^(?:0|10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./

/** Whether four numbers from `at` to `to` are no address. */
export function isVersion(view: View, at: number, to: number): boolean | typeof WAIT {
  const { text } = view
  const before = back(text, at, BEFORE)
  view.steps += 8
  if (STRONG.some((pattern) => pattern.test(before))) return true
  const after = text.slice(to, to + AFTER)
  if (after.length < AFTER && unknown(view, to + after.length) && BEGUN.test(after)) return WAIT
  if (SUFFIX.test(after)) return true
  // A port or a network follows an address.
  if (/^(?::\d|\/\d)/.test(after)) return false
  const number = text.slice(at, to)
  // Browsers end their versions so.
  if (/\w\/$/.test(before) && /^\d+(?:\.0){3}$/.test(number)) return true
  if (PRIVATE.test(number)) return false
  if (isSmall(number)) {
    if (NAMED.some((pattern) => pattern.test(before)) || isJoined(before, after)) return true
    const [, compared] = COMPARED.exec(before) ?? []
    const isCompared = compared !== undefined && !NO_COMPARISON.test(before) && after[0] !== '>'
    if (isCompared && !OF_ADDRESS.test(compared)) return true
  }
  return (
    WEAK.some((pattern) => pattern.test(before)) || (LATER.test(after) && BEFORE_LATER.test(before))
  )
}

/** Numbers as versions and sections have them. Of addresses, one in forty is so; resolvers are no versions. */
const isSmall = (number: string) =>
  number.split('.').every((part) => part.length < 3) &&
  !/^(?:8\.8\.8\.8|8\.8\.4\.4|1\.[01]\.[01]\.1|9\.9\.9\.\d+|4\.2\.2\.\d)$/.test(number)

/** Whether a number is that of the name before it, such as that of a package. */
function isJoined(before: string, after: string): boolean {
  const [all, name = '', sign] = JOINED.exec(before) ?? []
  if (all === undefined) return false
  const isPackage = sign === '@' && (name.includes('/') || name.startsWith('pkg:'))
  const parts = name.toLowerCase().split(/[^\p{L}\p{N}]+|(?<=\p{L})(?=\d)/u)
  const isOf = (list: ReadonlySet<string>) => parts.some((part) => list.has(part))
  if (!isPackage && (isOf(HOSTS) || (sign === '@' && (isOf(USERS) || name.includes(':')))))
    return false
  if (sign !== '@') return /\p{L}{2}/u.test(name)
  // `name@1.2.3.4:path` copies a file, `[name@1.2.3.4 ~]$` is a prompt.
  if (/^:\S/.test(after) && !/^:["'`,]/.test(after)) return false
  return !CONNECTS.test(before) && !/^(?:'s| ~)/.test(after) && !/[A-Z]/.test(name)
}
