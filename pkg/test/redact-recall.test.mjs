// How much of what is labelled the redactor finds, by kind, and what it takes for something else.
// Secrets are made from the expressions of gitleaks, so that none stands in the repository; numbers
// from their checks; the formats of phones and addresses are written out. The thresholds are those
// of DESIGN.md; what was measured stands in BENCHMARKS.md.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { createRedactor } from 'turnlock/redact'
import { SAMPLED } from '../tools/redactor/rules.mjs'
import { data } from '../../tests/data.mjs'

/** Samples of each rule, each in another context. */
const SAMPLES = 72
/** Of all secrets, and of those of each rule. */
const [RECALL, RECALL_OF_EACH] = [0.99, 0.9]
/** Of personal data, each kind. */
const RECALL_OF_KIND = 0.98
/** Of words of texts without anything to hide. */
const FALSE_POSITIVES = 0.0005

function generator(seed) {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** What is redacted of a text, with its kind. */
function found(text, options) {
  const kinds = []
  const mark = createRedactor({ ...options, mask: (kind) => (kinds.push(kind), '‡') })
  return { shown: mark.redact(text), kinds }
}

function entropy(text) {
  const counts = new Map()
  for (const one of text) counts.set(one, (counts.get(one) ?? 0) + 1)
  return [...counts.values()].reduce(
    (bits, n) => bits - (n / text.length) * Math.log2(n / text.length),
    0,
  )
}

/** A text of an alternative, and the part of it that is the secret. */
function sample(atoms, random) {
  let [text, from, to] = ['', 0, undefined]
  const groups = atoms.filter(({ mark }) => mark === '(').length
  const opens = atoms.findIndex(({ mark }) => mark === '(')
  for (const [index, { mark, set, min, max }] of atoms.entries()) {
    if (mark === '(' && groups === 1 && index === opens) from = text.length
    if (mark === ')' && groups === 1) to = text.length
    if (mark) continue
    const size = min + random(Math.min(max - min, 12) + 1)
    // `.` is meant where any character is allowed.
    const some = set.length === 127 ? ['.'] : [...set].filter((one) => one > ' ' && one < '\x7f')
    for (let n = 0; n < size; n++) text += some[random(some.length)] ?? ' '
  }
  return { text, secret: text.slice(from, to) }
}

const AROUND = [
  (text) => text,
  (text) => `The key is ${text} and it works`,
  (text) => JSON.stringify({ a: 1, message: text }),
  (text) => `curl -H 'X: ${text}' https://host.example/`,
  (text) => `line one\n${text}\nline three`,
  (text) => `(${text})`,
]
const IN_CONTEXT = [
  (word, text) => `${word}_key = "${text}"`,
  (word, text) => `${word.toUpperCase()}_TOKEN=${text}`,
  (word, text) => JSON.stringify({ [`${word}_secret`]: text }),
  (word, text) => `${word} api key: '${text}'`,
  (word, text) => `const ${word}Key = '${text}';`,
  (word, text) => `${word}.token => "${text}"\n`,
]

/** What stands before the secrets of a rule. */
const COMMANDS = { 'curl-user': 'curl' }

test('secrets of every rule', (t) => {
  const random = generator(7)
  const missed = []
  let [all, hits] = [0, 0]
  for (const { name, entropy: bits, words, alternatives } of SAMPLED) {
    let [own, of] = [0, 0]
    for (let n = 0; n < SAMPLES; n++) {
      let made
      do made = sample(alternatives[random(alternatives.length)], random)
      while (entropy(made.secret) < bits + 0.2 && random(200))
      const text =
        words.length > 0
          ? IN_CONTEXT[n % IN_CONTEXT.length](words[random(words.length)], made.text)
          : AROUND[n % AROUND.length]((COMMANDS[name] ?? '') + made.text)
      of++
      if (!found(text).shown.includes(made.secret)) own++
      else missed.push(`${name}: ${text}`)
    }
    all += of
    hits += own
    assert.ok(
      own / of >= RECALL_OF_EACH,
      `${name}: ${own} of ${of}\n${missed.slice(-3).join('\n')}`,
    )
  }
  t.diagnostic(`${hits} of ${all} secrets of ${SAMPLED.length} rules`)
  assert.ok(hits / all >= RECALL, missed.slice(0, 20).join('\n'))
})

/** Digits with Luhn's check digit. */
function card(prefix, size, random) {
  let digits = prefix
  while (digits.length < size - 1) digits += random(10)
  for (let check = 0; check < 10; check++) {
    const sum = [...`${digits}${check}`].reverse().reduce((sum, one, at) => {
      const twice = Number(one) * (1 + (at % 2))
      return sum + (twice > 9 ? twice - 9 : twice)
    }, 0)
    if (sum % 10 === 0) return `${digits}${check}`
  }
}
const BRANDS = [
  ['4', 16],
  ['51', 16],
  ['55', 16],
  ['2221', 16],
  ['2720', 16],
  ['34', 15],
  ['37', 15],

  ['6011', 16],
  ['65', 16],
  ['3528', 16],
  ['30', 14],
  ['36', 14],
  ['62', 16],
  ['4', 13],
]
const grouped = (digits, sizes) => {
  let at = 0
  return sizes.map((size) => digits.slice(at, (at += size))).filter(Boolean)
}

const IBANS = {
  DE: 22,
  GB: 22,
  FR: 27,
  NL: 18,
  ES: 24,
  IT: 27,
  CH: 21,
  AT: 20,
  BE: 16,
  NO: 15,
  PL: 28,
  SE: 24,
  DK: 18,
  FI: 18,
  IE: 22,
  PT: 25,
  GR: 27,
  CZ: 24,
  HU: 28,
  MT: 31,
  LC: 32,
  BR: 29,
}
const LETTERS = { GB: 4, NL: 4, IE: 4, MT: 4, LC: 4 }
function iban(country, random) {
  const letters = LETTERS[country] ?? 0
  let rest = ''
  for (let n = 0; n < IBANS[country] - 4; n++) {
    rest += n < letters ? String.fromCharCode(65 + random(26)) : random(10)
  }
  const digits = [...`${rest}${country}00`].map((one) => parseInt(one, 36)).join('')
  const check = 98n - (BigInt(digits) % 97n)
  return `${country}${String(check).padStart(2, '0')}${rest}`
}

const PHONES = `
+1 415 555 2671;+14155552671;+1 (415) 555-2671;+1-415-555-2671;(415) 555-2671;415-555-2671
415.555.2671;1-800-555-0199;+44 20 7946 0958;+44 7700 900123;020 7946 0958;07700 900123
+49 30 901820;+49 (0)30 901820;030 9018-2012;0171 1234567;+33 1 23 45 67 89;01 23 45 67 89
+39 06 6982;+34 912 345 678;+41 44 668 18 00;+43 1 58858;+31 20 794 0800;+46 8 123 456 78
+47 22 12 34 56;+45 32 12 34 56;+358 9 1234567;+48 22 123 45 67;+7 495 123-45-67;+90 212 123 45 67
+91 98765 43210;+86 10 1234 5678;+81 3-1234-5678;+82 2-123-4567;+61 2 1234 5678;+55 11 91234-5678
+52 55 1234 5678;+27 21 123 4567;+234 803 123 4567;+20 2 12345678;+971 4 123 4567;+972 3-123-4567
phone: 4155552671;tel 5552671;Mobile: 9876543210;WhatsApp 0612345678;0049 30 901820;call 555-2671
`
  .trim()
  .split(/[;\n]/)
const EMAILS = `
ada@example.com;ada.lovelace@example.co.uk;ada+tag@mail.example.org;a@b.io;ADA@EXAMPLE.COM
ada_l@sub.sub.example.museum;a-b@c-d.de;1ada@1and1.com;jörg@example.de;user@münchen.de;ada%x@e.com
user@例え.jp;user@xn--r8jz45g.xn--zckzah;o.k@example.photography;first.last@127.example.net
`
  .trim()
  .split(/[;\n]/)
const V6 = `
2001:0db8:85a3:0000:0000:8a2e:0370:7334;2001:db8::1;fe80::1;::1;::ffff:192.0.2.128;2001:db8::8a2e:370
64:ff9b::192.0.2.33;2a00:1450:4001:81b::200e;fd12:3456:789a:1::1;2001:DB8:0:0:8:800:200C:417A
`
  .trim()
  .split(/[;\n]/)

const IN_TEXT = [
  (text) => text,
  (text) => `Please use ${text}, thanks`,
  (text) => `(${text})`,
  (text) => JSON.stringify({ value: text }),
  (text) => `value=${text}\nnext`,
  (text) => `It is ${text}. Then`,
]
const random = generator(11)
const many = (count, make) => Array.from({ length: count }, (_, n) => make(n))
const LABELLED = {
  card: many(400, (n) => {
    const [prefix, size] = BRANDS[n % BRANDS.length]
    const digits = card(prefix, size, random)
    if (size === 13) return digits
    const sizes = size === 15 ? [4, 6, 5] : size === 14 ? [4, 6, 4] : [4, 4, 4, 4]
    return [digits, grouped(digits, sizes).join(' '), grouped(digits, sizes).join('-')][n % 3]
  }),
  iban: many(400, (n) => {
    const names = Object.keys(IBANS)
    const text = iban(names[n % names.length], random)
    return [text, grouped(text, Array(9).fill(4)).join(' '), text.toLowerCase()][n % 3]
  }),
  ip: [
    ...V6,
    ...many(200, () => [0, 0, 0, 0].map(() => random(256)).join('.')),
    ...many(100, () => many(8, () => random(65536).toString(16)).join(':')),
  ],
  phone: PHONES,
  email: EMAILS,
}
for (const [kind, all] of Object.entries(LABELLED)) {
  test(`${kind}: recall`, (t) => {
    const missed = []
    for (const text of all) {
      for (const around of IN_TEXT) {
        const given = around(text)
        const { shown, kinds } = found(given, { kinds: [kind] })
        // Of the text nothing is left but the word before a number, and `+`.
        const rest = around('‡')
        const word = /^[a-z]+:? /i.exec(text)?.[0] ?? ''
        if (!kinds.includes(kind) || shown !== around(`${word}‡`)) {
          missed.push(`${given} => ${shown.replace('‡', '*')} (${rest.length})`)
        }
      }
    }
    const share = 1 - missed.length / (all.length * IN_TEXT.length)
    t.diagnostic(`${(share * 100).toFixed(2)} % of ${all.length * IN_TEXT.length}`)
    assert.ok(share >= RECALL_OF_KIND, missed.slice(0, 20).join('\n'))
  })
}

const hex = (size) => many(size, () => random(16).toString(16)).join('')
const BENIGN = {
  // One of ten numbers has the check digit of a card by chance; these have not.
  card: many(300, (n) => {
    const digits = card('4', 16, random)
    const wrong = `${digits.slice(0, -1)}${(Number(digits.at(-1)) + 1 + (n % 8)) % 10}`
    return n % 2 ? wrong : grouped(wrong, [4, 4, 4, 4]).join(' ')
  }),
  iban: many(300, (n) => {
    const text = iban('DE', random)
    return `${text.slice(0, -1)}${(Number(text.at(-1)) + 1 + (n % 8)) % 10}`
  }),
  ip: [
    '1.2.3',
    'v1.2.3.4',
    '256.1.1.1',
    '1.2.3.4.5',
    '12:34:56',
    '00:11:22:33:44:55',
    'a::b',
    'std::vec::Vec',
    'x.1.2.3.4',
    '§3.2.1.1',
    'fe80',
    '1:2:3',
    'abc:def',
    '2024:11:23',
  ],
  phone: [
    '2024-11-23',
    '2024-11-23 15:00:00',
    '1,234,567,890',
    '3.14159265',
    '1699999999',
    '10-20',
    '12345-6789',
    '555',
    '1.2.3',
    '100 200 300',
    '(1000-50000)',
    '2024/11/23',
    '23.11.2024 15',
    ...many(200, () => hex(32)),
    ...many(200, () => String(random(1e9))),
    ...many(100, () => `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`),
  ],
  email: ['react@18.2.0', '@example.com', 'a@b', 'git@github.com:a/b', '@app.route', 'logo@2x.png'],
  secret: [
    ...many(300, () => hex(40)),
    ...many(300, () => `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`),
    'sk-fading-circle-of-many-words',
    'task-key-of-something',
    'token_count: 12345678',
    'max_tokens = 4096',
    'primary_key=customer_order_2024',
    'authorization: required',
    'api: /v1/chat/completions',
    'key: getUserAccessTokenForClient2',
    'password: string',
    'secret: ${{ secrets.TOKEN }}',
    'password = getPassword(1)',
    'token: <your-token>',
    'keyboard: qwerty1234',
    'https://host.example:8080/a@b',
    'author = Ada Lovelace 1815',
  ],
}
for (const [kind, all] of Object.entries(BENIGN)) {
  test(`${kind}: what looks like one is shown`, () => {
    const taken = all.filter((text) => found(text, { kinds: [kind] }).shown !== text)
    assert.ok(taken.length <= all.length * 0.01, taken.slice(0, 20).join('\n'))
  })
}

/** Conversations, streams and questions of others: what is personal in them is of e-mails and hosts. */
const TEXTS = ['trajectories-tau-bench', 'trajectories-swe-agent', 'complexity', 'provider-errors']
const STREAMS = ['streams-vercel-ai', 'streams-prism-php', 'sse-framing', 'streams-misc']

test('conversations and streams of others: false positives', (t) => {
  let [words, taken] = [0, 0]
  const examples = []
  for (const name of [...TEXTS, ...STREAMS]) {
    const folder = fileURLToPath(data(name))
    for (const file of readdirSync(folder, { recursive: true })) {
      const path = `${folder}/${file}`
      if (statSync(path).isDirectory()) continue
      const text = readFileSync(path, 'utf8')
      const kinds = KINDS_OF_NONE
      const { shown, kinds: masked } = found(text, { kinds })
      words += text.split(/\s+/).length
      taken += masked.length
      for (const at of shown.matchAll(/.{0,30}‡/g)) examples.push(`${file}: ${at[0]}`)
    }
  }
  t.diagnostic(`${taken} of ${words} words`)
  assert.ok(taken / words <= FALSE_POSITIVES, examples.slice(0, 30).join('\n'))
})
/** These texts have addresses of people and of hosts. */
const KINDS_OF_NONE = ['secret', 'phone', 'card', 'iban']
