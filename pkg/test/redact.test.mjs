// The redactor: what it finds, that no cut of a stream shows more, and how its work grows.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { holds } from '../../tests/properties/hold.mjs'
import { KINDS, Scanner } from '../dist/redactor/scanner.js'
import { valuesOf } from '../dist/redactor/values.js'
import { random as secret } from './secrets.mjs'

const GITHUB = `ghp_${secret(36)}`
const KEY = [
  `-----BEGIN RSA ${'PRIVATE'} KEY-----`,
  secret(64),
  secret(40, 5),
  `-----END RSA ${'PRIVATE'} KEY-----`,
].join('\n')
const VALUE = 'hunter2 & cö/"x"'

test('what the host registered is found in every encoding', () => {
  const { redact } = createRedactor({ values: [VALUE], kinds: ['value'] })
  const bytes = Buffer.from(VALUE)
  const hex = bytes.toString('hex')
  const shown = {
    [`a ${VALUE} b`]: 'a [redacted:value] b',
    [JSON.stringify({ a: VALUE })]: '{"a":"[redacted:value]"}',
    [JSON.stringify(JSON.stringify({ a: VALUE }))]: '"{\\"a\\":\\"[redacted:value]\\"}"',
    [`?q=${encodeURIComponent(VALUE)}&z`]: '?q=[redacted:value]&z',
    [`?${new URLSearchParams({ q: VALUE })}`]: '?q=[redacted:value]',
    [encodeURIComponent(VALUE).toLowerCase().replace('c%c3', 'c%c3')]: '[redacted:value]',
    [hex]: '[redacted:value]',
    [hex.toUpperCase()]: '[redacted:value]',
    [bytes.toString('base64')]: '[redacted:value]',
    [bytes.toString('base64url')]: '[redacted:value]',
    [VALUE.replaceAll('&', '&amp;').replaceAll('"', '&quot;')]: '[redacted:value]',
  }
  for (const [text, expected] of Object.entries(shown)) assert.equal(redact(text), expected, text)
})

const utf8 = (one) => [...new TextEncoder().encode(one)]
const units = (one) => one.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
/** What a character may be written as, besides itself. */
const ESCAPES = [
  (one) =>
    utf8(one)
      .map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`)
      .join(''),
  (one) =>
    utf8(one)
      .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
      .join(''),
  (one) =>
    units(one)
      .map((unit) => `\\u${unit}`)
      .join(''),
  (one) =>
    units(one)
      .map((unit) => `\\u${unit.toUpperCase()}`)
      .join(''),
  (one) => `&#${one.codePointAt(0)};`,
  (one) => `&#x${one.codePointAt(0).toString(16)};`,
  (one) => JSON.stringify(one).slice(1, -1).replace('/', '\\/'),
  (one) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[one] ?? one,
  (one) => (one === ' ' ? '+' : one),
]
const value = fc
  .array(fc.constantFrom(...'aZ7$&+ /~<>"\'=%;.é漢😀\u{10ffff}\\'), { minLength: 8, maxLength: 16 })
  .map((all) => all.join(''))
  .filter((text) => text.trim() === text)

test('what the host registered is found with each of its characters as itself or escaped', () =>
  holds(
    'registered values, escaped',
    fc.property(
      value,
      fc.array(fc.integer({ min: 0, max: ESCAPES.length }), { minLength: 16, maxLength: 16 }),
      fc.array(fc.nat({ max: 120 }), { maxLength: 3 }),
      (value, how, cuts) => {
        const redactor = createRedactor({ values: [value], kinds: ['value'] })

        // Escaped or not, a `%` or `\\` that stands for itself reads what follows with it.
        const plain = [...value].map((one, at) =>
          '%\\&'.includes(one) ? ESCAPES[2](one) : (ESCAPES[how[at] ?? 9] ?? ((same) => same))(one),
        )
        const text = `a ${plain.join('')} b`
        const masked = redactor.redact(text)
        assert.equal(masked, 'a [redacted:value] b', `${JSON.stringify(value)} as ${text}`)
        const at = cuts.map((cut) => cut % text.length).sort((a, b) => a - b)
        assert.equal(streamed(redactor, text, at), masked)
      },
    ),
    500,
  ))

test('behind each character, the longest value that ends there, and the longest that may go on', () => {
  const text = (most) =>
    fc.array(fc.constantFrom(...'aab~\x7f\x80é漢'), { maxLength: most }).map((all) => all.join(''))
  fc.assert(
    fc.property(fc.array(text(5), { minLength: 1, maxLength: 8 }), text(60), (values, whole) => {
      const { step, length, depth } = valuesOf(values)
      const longest = (all) => Math.max(0, ...all.map((one) => one.length))
      let state = 0
      for (let end = 1; end <= whole.length; end++) {
        state = step(state, whole.charCodeAt(end - 1))
        const before = whole.slice(0, end)
        const begun = values.flatMap((value) =>
          Array.from(value, (_, size) => value.slice(0, size + 1)),
        )
        const ends = (all) => longest(all.filter((one) => before.endsWith(one)))
        assert.deepEqual([length[state], depth[state]], [ends(values), ends(begun)])
      }
    }),
    { numRuns: 500 },
  )
})

test('what runtimes make of a registered value is found', () => {
  for (const value of [
    'abc8Q~XyZ.ab-cd_efGh1',
    'wJalrXUtnFEMI/K7MDENG+bPxRfi=',
    'pa$$w@rd-1!',
    'correct horse/battery',
  ]) {
    const redactor = createRedactor({ values: [value], kinds: ['value'] })
    const address = new URL('https://host.example/x')
    address.searchParams.set('q', value)
    const user = new URL('https://host.example/')
    user.password = value
    const long = Buffer.from(`${'x'.repeat(50)}${value}${'y'.repeat(70)}`).toString('base64')
    for (const text of [
      address.href,
      user.href,
      new URL(`https://host.example/${value}`).href,
      new URL(`https://host.example/?q=${value.replaceAll('+', '%2B')}`).href,
      encodeURI(`https://host.example/?q=${value}`),
      encodeURIComponent(value).replaceAll('%2F', '/'),
      JSON.stringify(`${value}<`).replaceAll('<', '\\u003c'),
      long.replace(/.{64}/g, '$&\n'),
      long.replace(/.{76}/g, '$&\r\n'),
      JSON.stringify(long.replace(/.{64}/g, '$&\n')),
    ]) {
      assert.match(redactor.redact(text), /\[redacted:value\]/, text)
      for (let at = 0; at <= text.length; at++) {
        assert.equal(streamed(redactor, text, [at]), redactor.redact(text))
      }
    }
  }
})

test('a value that looks like an escape, or stands behind the beginning of one, is found', () => {
  for (const value of [
    '41abcdef',
    '%41abcdef',
    'abcdef%',
    '\\nabcdef',
    'nabcdef',
    'amp;abcdef',
    '&amp;abc',
  ]) {
    const { redact } = createRedactor({ values: [value], kinds: ['value'] })
    for (const before of ['', '%', '\\', '&', '%4', '\\u00', '\ud83d']) {
      for (const after of ['', '41', ';', '\ude00']) {
        assert.ok(!redact(`${before}${value}${after}`).includes('abc'), `${before}${value}${after}`)
      }
    }
  }
})

test('half of a pair before a value is none of it', () => {
  const value = 'éabcdef'
  const redactor = createRedactor({ values: [value], kinds: ['value'] })
  for (const half of ['\ud83d', '\\ud83d', '\ude00', '\\ude00', '\ud83d\ud83d']) {
    for (const written of [value, '\\u00e9abc%64ef', '&#233;abc%64ef', '%C3%A9abcde\\u0066']) {
      const text = `${half}${written}`
      assert.equal(redactor.redact(text), `${half}[redacted:value]`, JSON.stringify(text))
      assert.equal(streamed(redactor, text, [...Array(text.length).keys()]), redactor.redact(text))
    }
  }
})

test('no base64 of other bytes around a value has the value in it', () =>
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 9 }),
      fc.uint8Array({ maxLength: 9 }),
      fc.string({ unit: 'grapheme', minLength: 8, maxLength: 24 }),
      (before, after, value) => {
        fc.pre(value.trim().length >= 8)
        const { redact } = createRedactor({ values: [value], kinds: ['value'] })
        const bytes = Buffer.concat([before, Buffer.from(value), after])
        for (const name of ['base64', 'base64url']) {
          const text = bytes.toString(name)
          const masked = redact(text)
          assert.notEqual(masked, text)
          // At the edges four characters at most have bits of other bytes, too.
          const kept = masked.replace('[redacted:value]', '').length
          assert.ok(kept <= text.length - Math.floor((Buffer.byteLength(value) * 8) / 6) + 2)
        }
      },
    ),
  ))

test('every occurrence is masked, also where values overlap', () => {
  const { redact } = createRedactor({ values: ['ababab-ab', 'ab-ababab', 'abcdef', 'bcdefgh'] })
  assert.equal(redact('xababab-abababx'), 'x[redacted:value]x')
  assert.equal(
    redact('1 abcdefgh 2 abcdefabcdef'),
    '1 [redacted:value] 2 [redacted:value][redacted:value]',
  )
})

const FOUND = [
  [`key ${GITHUB}.`, 'key [redacted:secret].'],
  [`${GITHUB}more is a part of it`, '[redacted:secret] is a part of it'],
  [`Authorization: Bearer ${secret(24)}`, 'Authorization: Bearer [redacted:secret]'],
  ['https://bob:pa55w0rd@host.example/x', 'https://bob:[redacted:secret]@host.example/x'],
  [`before\n${KEY}\nafter.`, 'before\n[redacted:secret]\nafter.'],
  [JSON.stringify({ key: KEY, b: 1 }), '{"key":"[redacted:secret]","b":1}'],
  ['password: hunter22!', 'password: [redacted:secret]!'],
  [
    `tokens = ["${secret(32)}", "${secret(24)}"]`,
    'tokens = ["[redacted:secret]", "[redacted:secret]"]',
  ],
  [`keys: { api_keys=['${secret(32)}'] }`, "keys: { api_keys=['[redacted:secret]'] }"],
  ['{"api_key": "four-words"}', '{"api_key": "[redacted:secret]"}'],
  ['"{\\"client_secret\\":\\"abc-def\\"}"', '"{\\"client_secret\\":\\"[redacted:secret]\\"}"'],
  ['{"password":"a\\"b\\\\c","x":1}', '{"password":"[redacted:secret]","x":1}'],
  [`secret=${secret(900)};x`, 'secret=[redacted:secret];x'],
  [`api_key: "${secret(900)}"`, 'api_key: "[redacted:secret]"'],
  [
    `-----BEGIN PGP ${'PRIVATE'} KEY BLOCK-----\nVersion: GnuPG v1.4.12 (GNU/Linux)\n\n${secret(90)}!`,
    '[redacted:secret]!',
  ],
  [`SESSION_TOKEN=${secret(20)}`, 'SESSION_TOKEN=[redacted:secret]'],
  ['mail ada.l+x@mail.example.com, now', 'mail [redacted:email], now'],
  ['用户foo@bar.com。', '用户[redacted:email]。'],
  ['card 4111 1111 1111 1111.', 'card [redacted:card].'],
  ['DE89 3704 0044 0532 0130 00', '[redacted:iban]'],
  ['from 192.168.7.20:8080 and 2001:db8::7', 'from [redacted:ip]:8080 and [redacted:ip]'],
  ['call (415) 555-2671 or +49 30 901820', 'call [redacted:phone] or [redacted:phone]'],
]
for (const [text, expected] of FOUND) {
  test(`found: ${JSON.stringify(expected)}`, () => {
    assert.equal(createRedactor().redact(text), expected)
  })
}

test('far into a text all is found as at its beginning, in parts of any size', () => {
  const words = `\n\n${'and so it went on for 7 more words, ö 😀. '.repeat(30)}\n\n`
  const written = [
    VALUE,
    JSON.stringify(VALUE).slice(1, -1),
    encodeURIComponent(VALUE),
    'h%75nter2 & cö/"x"',
    'hunter2 &amp; c\\u00f6/\\"x"',
  ]
  const all = [
    ...FOUND,
    ...written.map((value) => [`a ${value} b`, 'a [redacted:value] b']),
    [`${GITHUB} ada@example.com ${VALUE}`, '[redacted:secret] [redacted:email] [redacted:value]'],
    [VALUE + VALUE, '[redacted:value][redacted:value]'],
  ]
  const [text, expected] = [0, 1].map((which) => all.map((one) => words + one[which]).join(''))
  const redactor = createRedactor({ values: [VALUE] })
  for (const size of [1, 5, 64, 900, text.length]) {
    const cuts = Array.from(
      { length: Math.ceil(text.length / size) - 1 },
      (_, at) => (at + 1) * size,
    )
    assert.equal(streamed(redactor, text, cuts), expected, `parts of ${size}`)
  }
})

const SHOWN = [
  'a text about -----BEGIN PRIVATE KEY----- in keys, and what follows it is shown',
  'the token is short and the key: value',
  '"password": "Enter your password"',
  'password: required, password: ********, password: ${PASSWORD}',
  'prompt_cache_key: 6fd372fa-d982-4ae1-8e40-74d84d087ad9',
  '4111 1111 1111 1112 and 2024-11-23 15:00:00.000 and 1699999999999',
  'DE89370400440532013001',
  'v1.2.3.4 and 1.2.3 and 12:34:56 and std::vec and 00:11:22:33:44:55',
  'react@18.2.0 and git@github.com:a/b.git and logo@2x.png',
  'sk-folding-cube-container-large and task-sk-1',
  'd41d8cd98f00b204e9800998ecf8427e 3.14159265358979 1,234,567,890',
  '[redacted:secret] [redacted:email] password: "[redacted:secret]"',
]
for (const text of SHOWN) {
  test(`shown: ${text}`, () => assert.equal(createRedactor().redact(text), text))
}

/** What the parts of a stream show, that is cut at these places. */
function streamed(redactor, text, cuts) {
  let shown = ''
  let from = 0
  for (const cut of [...cuts, text.length]) {
    shown += redactor.feed(text.slice(from, cut))
    from = cut
  }
  return shown + redactor.end()
}

const registered = createRedactor({ values: [VALUE, 'ababab-ababac', '😀😀secret'] })
const ALL = [
  ...FOUND.map(([text]) => text),
  ...SHOWN,
  `x ababab-ababab-ababac ${VALUE} 😀😀😀secret`,
]

/** Where two cuts are made: anywhere in a short text; in a long one, near its ends and what is read. */
function places(text) {
  const all = [...Array(text.length + 1).keys()]
  if (text.length <= 200) return all
  const bounds = [0, 100, 128, 500, text.length]
  return all.filter((at) => bounds.some((bound) => Math.abs(at - bound) <= 20))
}

test('every cut, and every two cuts, of what is found and what is shown', () => {
  for (const text of ALL) {
    const whole = registered.redact(text)
    const check = (...cuts) => {
      const shown = streamed(registered, text, cuts)
      if (shown !== whole) assert.equal(shown, whole, `${text} cut at ${cuts}`)
    }
    for (let one = 0; one <= text.length; one++) check(one)
    const all = places(text)
    all.forEach((one, index) => all.slice(index).forEach((two) => check(one, two)))
  }
})

/** Beginnings and ends of matches, and what stands between them. */
const PIECES = [
  'ghp_',
  'sk-',
  'sk-ant-api03-',
  'AKIA',
  'A3T',
  '-----BEGIN',
  ' RSA PRIVATE KEY-----',
  '-----END',
  'KEY-----',
  '\n',
  '\\n',
  ' ',
  '.',
  '@',
  '://',
  ':',
  '=',
  '"',
  "'",
  'bearer ',
  'Authorization: Basic ',
  'password',
  'token',
  ' api_key ',
  'adafruit',
  '4111 1111 1111 1111',
  '4111111111111111',
  '+1 555 123 4567',
  '(415) ',
  '555-',
  '1234',
  '0',
  '00',
  'DE89 3704',
  'DE89370400440532013000',
  '192.168.',
  '1.1',
  '::',
  '2001:db8',
  'fe80',
  'ada',
  '@example',
  '.com',
  'é',
  '😀',
  '\ud83d',
  '\ude00',
  '联系',
  'secret',
  'hunter2 &',
  ' cö/"x"',
  'ababab-',
  'abc',
  '0123456789abcdef',
  '-',
  '_',
  '~',
  '/',
  '+',
  ',',
  ';',
  '(',
  ')',
  'Q~',
  '.atlasv1.',
  '_mmk',
  '-us1',
  '12345678:AA',
  'eyJhbGciOiJIUzI1',
  '.eyJzdWIiOiIxMjM0',
  '\t',
  '=>',
  '||',

  'pwd',
  ' is ',
  '--',
  '<',
  '>',
  '", "value": "',
  '%eth0',
  '/24',
  '[',
  "o'",
  'okta',
  ' | ',
  'X=',
  'tel ',
  'phone: ',
  'git',
  '%20',
  secret(20),
  secret(36, 3),
  secret(64, 9),
  VALUE,
  // Longer than what is read of a value.
  'password="',
  'api_key = "',
  secret(64, 9).repeat(2),
  secret(64, 9).repeat(8),
]
const texts = fc
  .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ maxLength: 12 })), { maxLength: 14 })
  .map((pieces) => pieces.join(''))

test('any text, cut anywhere, also in each of its characters', () =>
  holds(
    'any text, cut anywhere',
    fc.property(texts, fc.array(fc.nat(400), { maxLength: 6 }), (text, cuts) => {
      const whole = registered.redact(text)
      const places = cuts.filter((cut) => cut <= text.length).sort((a, b) => a - b)
      assert.equal(streamed(registered, text, places), whole)
      assert.equal(streamed(registered, text, [...Array(text.length).keys()]), whole)
    }),
    3000,
  ))

test('values as long as what is read of one, and a little more or less, cut in each character', () => {
  const names = ['Authorization: Basic ', 'Authorization: ', 'token: ', 'api_key = "', 'password="']
  const [letters, around] = [secret(64, 9).repeat(8), [-2, -1, 0, 1, 2]]
  for (const length of [100, 128, 500].flatMap((most) => around.map((more) => most + more))) {
    for (const name of names) {
      for (const rest of ['', ':', '.', '"', ': x', '="', ', "y"']) {
        const text = `${name}${letters.slice(0, length)}${rest}`
        const shown = streamed(registered, text, [...Array(text.length).keys()])
        assert.equal(shown, registered.redact(text), `${name}… (${length})${rest}`)
      }
    }
  }
})

test('no part of a stream ends within a pair, and what is shown leaves the order', () => {
  const redactor = createRedactor()
  let shown = ''
  for (const unit of 'a😀b😀😀\u{10000}\u{10ffff} ada@example.com 😀'.split('')) {
    const part = redactor.feed(unit)
    assert.ok(part.isWellFormed?.() ?? true)
    shown += part
  }
  assert.equal(shown + redactor.end(), 'a😀b😀😀\u{10000}\u{10ffff} [redacted:email] 😀')
})

test('a word is held back, not the text', () => {
  const redactor = createRedactor()
  assert.equal(redactor.feed('one two '), 'one two ')
  assert.equal(redactor.feed('three'), '')
  assert.equal(redactor.feed(' four'), 'three ')
  assert.equal(redactor.end(), 'four')
  assert.equal(redactor.end(), '')
})

test('fields are hidden by path and by name; numbers and the order of members stay', () => {
  const redactor = createRedactor({ fields: ['/user/ssn', 'items.*.note', '**.deep', '/a~1b'] })
  const value = {
    user: { ssn: 123, name: 'Ada', mail: 'ada@example.com' },
    items: [{ note: { any: 1 }, n: 4 }, { other: 'x' }],
    far: { down: [{ deep: 'x' }] },
    'a/b': 1,
    DB_PASSWORD: 'abc',
    github_token: GITHUB.slice(4),
    page_token: 'three',
    headers: { Authorization: 'x', 'Set-Cookie': ['a=b'], 'x-api-key': 'y', accept: 'z' },
    password: true,
    card: 4111111111111111,
    ['bob@example.com']: null,
  }
  const before = JSON.stringify(value)
  assert.deepEqual(redactor.value(value), {
    user: { ssn: '[redacted:field]', name: 'Ada', mail: '[redacted:email]' },
    items: [{ note: '[redacted:field]', n: 4 }, { other: 'x' }],
    far: { down: [{ deep: '[redacted:field]' }] },
    'a/b': '[redacted:field]',
    DB_PASSWORD: '[redacted:field]',
    github_token: '[redacted:secret]',
    page_token: 'three',
    headers: {
      Authorization: '[redacted:field]',
      'Set-Cookie': '[redacted:field]',
      'x-api-key': '[redacted:field]',
      accept: 'z',
    },
    password: true,
    card: '[redacted:card]',
    '[redacted:email]': null,
  })
  assert.equal(JSON.stringify(value), before)
})

test('a value that holds itself, or is too deep, is hidden from there on', () => {
  const self = { a: 1 }
  self.self = self
  assert.deepEqual(createRedactor().value(self), { a: 1, self: '[redacted:field]' })
  const deep = JSON.parse(`${'['.repeat(5000)}"ada@example.com"${']'.repeat(5000)}`)
  const text = JSON.stringify(createRedactor().value(deep))
  assert.ok(text.includes('[redacted:field]') && !text.includes('ada'))
  const own = JSON.parse('{"__proto__": {"a": "ada@example.com"}}')
  assert.equal(
    JSON.stringify(createRedactor().value(own)),
    '{"__proto__":{"a":"[redacted:email]"}}',
  )
})

test('a value is read as JSON writes it; a name that JSON quotes is one', () => {
  const { value } = createRedactor({ values: [VALUE] })
  assert.deepEqual(value({ at: new Date(0), link: new URL('https://host.example/') }), {
    at: '1970-01-01T00:00:00.000Z',
    link: 'https://host.example/',
  })
  class Secret {
    #kept = VALUE
    toJSON() {
      return { kept: this.#kept }
    }
  }
  assert.deepEqual(value(new Secret()), { kept: '[redacted:value]' })
  const own = value({ a: 1, toJSON: () => ({ kept: VALUE }), no: () => VALUE })
  assert.deepEqual(own, { kept: '[redacted:value]' })
  for (const none of [new Map([['a', 1]]), new Set(['a'])]) {
    assert.throws(() => value({ none }), { code: 'options.invalid' })
  }
  const quoted = `ab"${secret(12)}`
  assert.deepEqual(value({ db_pass: quoted, passwords: [quoted], secrets: { a: 1 }, apiKeys: 7 }), {
    db_pass: '[redacted:secret]',
    passwords: '[redacted:field]',
    secrets: '[redacted:field]',
    apiKeys: '[redacted:field]',
  })
})

test('cards with spaces that do not break, and an address in an address', () => {
  const { redact } = createRedactor()
  for (const space of ['\u00a0', '\u2009', '\u202f', '\u2011']) {
    assert.equal(redact(['4111', '1111', '1111', '1111'].join(space)), '[redacted:card]')
  }
  assert.equal(
    redact('https://x.example/?mail=ada%40example.com&a=50%40'),
    'https://x.example/?mail=[redacted:email]&a=50%40',
  )
})

test('what is no text or no function is refused', () => {
  assert.throws(() => createRedactor({ mask: '***' }), { code: 'options.invalid' })
  assert.throws(() => createRedactor().redact({ a: 1 }), { code: 'options.invalid' })
})

test('kinds, masks, and options that are none', () => {
  assert.equal(
    createRedactor({ kinds: ['email'] }).redact(`a@b.co ${GITHUB}`),
    `[redacted:email] ${GITHUB}`,
  )
  const values = [VALUE]
  assert.equal(createRedactor({ kinds: ['email'], values }).redact(VALUE), VALUE)
  assert.equal(
    createRedactor({ values: ['  abc d-e-f\n'] }).redact('(abc d-e-f)'),
    '([redacted:value])',
  )
  assert.equal(createRedactor({ mask: (kind) => `<${kind}>` }).redact('a@b.co'), '<email>')
  const failing = createRedactor({
    mask: () => {
      throw new Error('no')
    },
  })
  assert.equal(failing.redact('a@b.co'), '[redacted:email]')
  const invalid = { name: 'TurnlockError', code: 'options.invalid' }
  assert.throws(() => createRedactor({ values: ['tiny'] }), invalid)
  assert.throws(() => createRedactor({ values: ['   tiny   '] }), invalid)
  assert.throws(() => createRedactor({ values: [7] }), invalid)
  assert.throws(() => createRedactor({ values: ['abcdefgh', 7] }), invalid)
  assert.throws(() => createRedactor({ values: 'abcdefgh' }), invalid)
  assert.throws(() => createRedactor({ values: ['x'.repeat(70_000)] }), invalid)
  assert.throws(() => createRedactor({ fields: [1] }), invalid)
  // Without its first `/` it would name a member that there is not.
  assert.throws(() => createRedactor({ fields: ['/a', 'user/ssn'] }), invalid)
  assert.throws(() => createRedactor({ kinds: ['mail'] }), invalid)
  assert.throws(() => createRedactor({ kinds: ['email', 'mail'] }), invalid)
  assert.throws(() => createRedactor({ value: ['x'] }), invalid)
})

test('what is refused is named, with what it should be', () => {
  const half = 'x'.repeat(32_768)
  const kinds = ['email']
  const REFUSED = [
    [{ fields: ['/a', 'ab/c'] }, '`fields`: expected as `/a/b` or `a.b`'],
    [{ fields: 'a' }, '`fields`: expected a list of texts'],
    [{ mask: 'x' }, '`mask`: expected a function'],
    [{ mask: null }, '`mask`: expected a function'],
    [{ kinds: ['name'] }, '`kinds`: expected of value, secret, email, phone, card, iban, ip'],
    [{ kinds: [1] }, '`kinds`: expected a list of texts'],
    [{ values: [VALUE, ' abcde '] }, '`values[1]`: expected a text of at least 6 characters'],
    [{ values: 'abcdefgh' }, '`values`: expected a list of texts'],
    [{ values: [half, `${half}x`], kinds }, '`values`: expected at most 65536 characters together'],
  ]
  for (const [options, message] of REFUSED)
    assert.throws(() => createRedactor(options), { code: 'options.invalid', message })
  const redactor = createRedactor({ values: [half, half], kinds, fields: ['a.b', '/', '/a/b', ''] })
  const NONE = {
    '`text`: expected a text; `value` redacts JSON': [redactor.redact, redactor.feed],
    '`event`: expected an object': [redactor.trace],
    '`events`: expected the events of a turn': [
      redactor.events,
      () => redactor.events({}),
      () => redactor.events({ next: 1 }),
    ],
  }
  for (const [message, asked] of Object.entries(NONE))
    for (const ask of asked)
      for (const given of [undefined, 5])
        assert.throws(() => ask(given), { code: 'options.invalid', message })
})

test('a mask that gives no text, and a stream of nothing', () => {
  assert.equal(createRedactor({ mask: () => 5 }).redact('a@b.co'), '[redacted:email]')
  const { feed, end, trace } = createRedactor()
  assert.equal(end(), '')
  assert.equal(feed('a@b.co') + end() + feed('x') + end(), '[redacted:email]x')
  assert.deepEqual(trace({ type: 'a', text: 'a@b.co' }), { type: 'a', text: 'a@b.co' })
  assert.deepEqual(trace({ type: 'a', tool_name: 'a@b.co', n: 1 }), {
    type: 'a',
    tool_name: '[redacted:email]',
    n: 1,
  })
})

test('the mark of a cut is one at the end only, as the core writes it', () => {
  const { value } = createRedactor()
  const marks = [
    '[cut: x]',
    `[cut: ${'x'.repeat(80)}]`,
    '(1 bytes)',
    '(123456789012 bytes)',
    '(13 characters)',
    '[cut: 9 of 10 bytes]',
  ]
  for (const mark of marks)
    for (const quote of ['', '"']) {
      // What stands before it is held back, as a word that may go on.
      assert.equal(value(`so, hello… ${mark}${quote}`), `so, … ${mark}${quote}`)
      const within = `so, hello… ${mark}${quote} x`
      assert.equal(value(within), within)
    }
  const others = [
    '[cut: ]',
    `[cut: ${'x'.repeat(81)}]`,
    '(bytes)',
    '(1234567890123 bytes)',
    '(x bytes)',
    '[cut: a]b]',
    '[cut: a… b]',
    '(1 words)',
    '(1 bytes)""',
  ]
  for (const other of others) assert.equal(value(`hello… ${other}`), `hello… ${other}`)
})

/** The steps for each character of a text, read at once or in parts of so many characters. */
function steps(text, size = text.length) {
  const scanner = new Scanner({ kinds: new Set(KINDS), values: undefined, mask: () => '' })
  for (let at = 0; at < text.length; at += size) scanner.feed(text.slice(at, at + size))
  scanner.end()
  return scanner.steps / text.length
}

/** Steps for a character that no text takes; what an attacker chose took 88 when this was written. */
const MOST = 100
/** The same where a stream comes in parts of 16 characters: what waits is read again (96). */
const MOST_IN_PARTS = 160

for (const [name, unit] of [
  ...['a', '@', '-----BEGIN'].map((unit) => [`10 MB of ${unit}`, unit]),
]) {
  test(`hostile: ${name}`, () => {
    const text = unit.repeat(Math.ceil(10_000_000 / unit.length))
    const [all, tenth] = [steps(text), steps(text.slice(0, text.length / 10))]
    assert.ok(all <= MOST, `${all} steps a character`)
    assert.ok(all <= tenth * 1.01, `${tenth} steps a character of a tenth, ${all} of all`)
  })
}

test('hostile: what begins again and again', () => {
  const units = [
    'pw=',
    'secretkey=',
    '=secret',
    ...PIECES.filter((piece) => piece.trim()),

    'password=',
    'keykeykey==',
    '1 ',
    '1-',
    'AA11 ',
    'a@a.',
    '1:',
    '://a:',
    'M',
    'token: "',
    '+1 ',

    'secretsecret:"',
    '\\"',
    `${secret(64)}@`,
    `${'a'.repeat(64)}.`,
    `-----BEGIN ${'PRIVATE'} KEY-----`,
    GITHUB,
    `${KEY.slice(0, 90)}`,
    'phone 1',
    '_authtoken = ',
  ]
  for (const unit of units) {
    const text = unit.repeat(Math.ceil(200_000 / unit.length))
    const [all, tenth] = [steps(text), steps(text.slice(0, 20_000))]
    assert.ok(all <= MOST, `${all} steps a character of ${unit}`)
    assert.ok(all <= tenth * 1.05 + 0.1, `${tenth} and ${all} steps a character of ${unit}`)
    const parts = steps(text.slice(0, 50_000), 16)
    assert.ok(parts <= MOST_IN_PARTS, `${parts} steps a character of parts of ${unit}`)
  }
})

test('hostile: what a stream holds does not grow with it', () => {
  for (const unit of ['a', 'ghp_', GITHUB, `${secret(64)}`, KEY.slice(0, 80), '1', 'key=']) {
    const scanner = new Scanner({ kinds: new Set(KINDS), values: undefined, mask: () => '' })
    for (let at = 0; at < 400; at++) {
      scanner.feed(unit.repeat(Math.ceil(1000 / unit.length)))
      assert.ok(scanner.size < 3000, `${scanner.size} characters of ${unit}`)
    }
  }
})
