// Redaction of JSON in a text: what was JSON stays JSON, at every level and however a stream is cut.
//
// Public reports: NousResearch/hermes-agent#42846, tinyhumansai/tinycortex#154,
// latitude-dev/latitude-llm#4318, maximhq/bifrost#6977, majiayu000/litellm-rs#1274 (read 2026-11-29).
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { holds } from '../../tests/properties/hold.mjs'

const CARD = 4111111111111111
const PHONE = 14155552671
const MAIL = 'ada@example.com'
const VALUE = 7734501289
/** Values that stand across escapes, quotes and punctuation of JSON. */
const ODD = [
  'nabcdef',
  'abcdef\\',
  'x","b":1,',
  'secret "quoted" one',
  '[987654,321]',
  '\\u0041bcd',
]

const streamed = (redactor, text, cuts) => {
  let shown = ''
  let from = 0
  for (const cut of [...cuts, text.length]) {
    shown += redactor.feed(text.slice(from, cut))
    from = cut
  }
  return shown + redactor.end()
}

test('JSON text: a mask in place of a number is a string', () => {
  const { redact } = createRedactor({ values: [String(VALUE)] })
  const rows = {
    [`{"pan":${CARD},"n":1}`]: '{"pan":"[redacted:card]","n":1}',
    [`{"pan" : ${CARD} }`]: '{"pan" : "[redacted:card]" }',
    [`{"pan":${CARD}\n}`]: '{"pan":"[redacted:card]"\n}',
    [`{"pan":-${CARD}}`]: '{"pan":"-[redacted:card]"}',
    [`[[${CARD}],[0,${CARD}]]`]: '[["[redacted:card]"],[0,"[redacted:card]"]]',
    [`{"n":9${VALUE}.5e+7,"m":1.5e3}`]: '{"n":"[redacted:value]","m":1.5e3}',
    [`{"n":-0.${VALUE},"m":-0.5}`]: '{"n":"-0.[redacted:value]","m":-0.5}',
    [`{"${CARD}":${CARD}}`]: '{"[redacted:card]":"[redacted:card]"}',
    [`{"a":1}\n{"pan":${CARD}}\n`]: '{"a":1}\n{"pan":"[redacted:card]"}\n',
    [`data: {"pan":${CARD}}\n\n`]: 'data: {"pan":"[redacted:card]"}\n\n',
    [`Here: \`\`\`json\n{"pan": ${CARD}}\n\`\`\``]:
      'Here: ```json\n{"pan": "[redacted:card]"}\n```',
    // What is no JSON is a text.
    [`${CARD}`]: '[redacted:card]',
    [`[4111 1111 1111 1111]`]: '[[redacted:card]]',
    [`{pan: ${CARD}}`]: '{pan: [redacted:card]}',
    [`{"pan": ${CARD} x}`]: '{"pan": [redacted:card] x}',
    [`[${CARD}`]: '[[redacted:card]',
  }
  for (const [text, expected] of Object.entries(rows)) assert.equal(redact(text), expected, text)
})

test('JSON text: a mask is escaped and quoted as the strings around it, eight levels deep', () => {
  const { redact } = createRedactor({ mask: (kind) => `"${kind}\\\n` })
  const masks = { n: '"card\\\n', t: 'to "email\\\n!' }
  let text = JSON.stringify({ n: CARD, t: `to ${MAIL}!` })
  for (let level = 0; level < 8; level++) {
    let read = redact(text)
    for (let inner = 0; inner < level; inner++) read = JSON.parse(read).body
    assert.deepEqual(JSON.parse(read), masks, `level ${level}`)
    text = JSON.stringify({ body: text })
  }
  assert.equal(typeof JSON.parse(redact(text)).body, 'string')
})

test('JSON text: a match across strings hides each of them and leaves the punctuation', () => {
  const { redact } = createRedactor({ values: ODD })
  const begin = `-----BEGIN RSA ${'PRIVATE'} KEY-----`
  const body = 'MIIEowIBAAKCAQEA7bq1u3Xg9fS0aB2c'
  const rows = {
    // A key that was cut: its end is missing.
    [`{"key":"${begin}\\n${body}","n":5}`]:
      '{"key":"[redacted:secret]","[redacted:secret]":"[redacted:secret]"}',
    [JSON.stringify([begin, body, 'x'])]:
      '["[redacted:secret]","[redacted:secret]","[redacted:secret]"]',
    '{"a":"x","b":1,"c":2}': '{"a":"[redacted:value]","[redacted:value]":"[redacted:value]","c":2}',
    '{"a":[987654,321]}': '{"a":["[redacted:value]","[redacted:value]"]}',
    // A match that begins or ends within an escape hides all of the escape.
    [JSON.stringify({ a: 'x\nabcdef y' })]: '{"a":"x[redacted:value] y"}',
    [JSON.stringify({ a: 'abcdef\\' })]: '{"a":"[redacted:value]"}',
    '{"a":"abcdef\\"q"}': '{"a":"[redacted:value]q"}',
  }
  for (const [text, expected] of Object.entries(rows)) assert.equal(redact(text), expected, text)
})

test('JSON text: a long number, and one that an event divides, stay numbers', async () => {
  const redactor = createRedactor({ values: [String(VALUE)] })
  const digits = '1'.repeat(600)
  const long = `{"n":${digits}${VALUE}2,"m":3}`
  const shown = redactor.redact(long)
  assert.equal(shown, `{"n":${digits}${'0'.repeat(10)}2,"m":3}`)
  for (let at = 0; at <= long.length; at++) assert.equal(streamed(redactor, long, [at]), shown)
})

test('JSON text: public reports, rebuilt', () => {
  const { redact } = createRedactor()
  const pem = (part) => `-----${part} RSA ${'PRIVATE'} KEY-----`
  const body = 'MIIEowIBAAKCAQEA7bq1u3Xg9fS0aB2cD4eF6gH8'
  const texts = [
    // paperclipai/paperclip#9856 (2026-07-19), #11037 (2026-08-07): the backslash before a quote.
    { command: 'curl -H "Authorization: Bearer q9X7vB2nM4kL8pT3wZ6yR1sD" "http://host.example"' },
    { result: 'token="q9X7vB2nM4kL8pT3wZ6yR1sD5fG0hJ"\\n"' },
    // kurrent-io/kcap-cli#681 (2026-08-26): objects, lists and numbers as values, a key in two strings.
    { headers: { Cookie: { session: 'abc' }, Host: 'host.example' }, tail: 'shown' },
    {
      headers: { Authorization: ['Bearer q9X7vB2nM4kL8pT3wZ6y', 'Bearer y'], z: 1 },
      tail: 'shown',
    },
    { h: { 'X-Api-Key': 12345, api_key: 1234567, next: 'shown' }, tail: 'shown' },
    {
      a: `${pem('BEGIN')}\n${body}`,
      between: { n: [1] },
      b: pem('END'),
      tail: 'shown',
    },
    // openclaw/openclaw#146718 (2026-09-13), hojinzs/github-symphony#520 (2026-08-02).
    { message: '--token "synthetic-credential-123456"' },
    { token: 123, secret: 45678, password: false, status: 'shown' },
    // NousResearch/hermes-agent#69196 (2026-07-22), narailabs/narai-primitives#207 (2026-09-12).
    { password: 'foo"bar_secret_value1' },
    { message: 'prefix token: abc, password: hunter2hunter', tail: 'shown' },
    // JeongJaeSoon/agent-guard#179 (2026-08-30).
    { level: 'info', log: 'starting with API_KEY=hunter2-long-value', ok: true },
  ].map((value) => JSON.stringify(value))
  const hidden = /bar_secret|hunter2|q9X7vB2n|MIIEow|1234567|45678/
  for (const text of texts) {
    for (const whole of [text, JSON.stringify({ chunk: `${text}\n` })]) {
      const shown = redact(whole)
      assert.equal(JSON.stringify(JSON.parse(shown)), shown, whole)
      assert.doesNotMatch(shown, hidden, whole)
      if (whole.includes('"tail"')) assert.match(shown, /"tail":"shown"/)
      for (let at = 0; at <= whole.length; at++) {
        assert.equal(streamed(createRedactor(), whole, [at]), shown)
      }
    }
  }
})

test('JSON text: a secret with quotes and backslashes is hidden to its end at every level', () => {
  const { redact } = createRedactor()
  const names = ['password', 'db_password', 'client_secret', 'пароль', 'contraseña', '비밀번호']
  for (const secret of ['foo"bar_secret1', 'a\\"b"c\\\\', 'hunter2\\', '"hunter2"x', 'a1\nb"c d']) {
    for (const name of names) {
      let text = JSON.stringify({ [name]: secret, n: 1 })
      for (let level = 0; level < 4; level++) {
        let shown = redact(text)
        for (let cut = 0; cut <= text.length; cut++) {
          assert.equal(streamed(createRedactor(), text, [cut]), shown)
        }
        for (let inner = 0; inner < level; inner++) shown = JSON.parse(shown).body
        assert.equal(shown, JSON.stringify({ [name]: '[redacted:secret]', n: 1 }), text)
        text = JSON.stringify({ body: text })
      }
    }
  }
})

test('JSON text: a number that an event divides after its sign stays a number', async () => {
  const redactor = createRedactor({ values: [String(VALUE)] })
  async function* events() {
    yield { type: 'text', chunk: '[-' }
    yield { type: 'tool_progress', toolCallId: 'a', data: 'x' }
    yield { type: 'text', chunk: `${VALUE}E+2]` }
  }
  let shown = ''
  for await (const event of redactor.events(events())) shown += event.chunk ?? ''
  assert.equal(shown, '[-1000000000E+0]')
})

const spaces = fc.constantFrom('', '', ' ', '\n', '\r\n\t')
const word = fc.constantFrom('a', 'password', 'pan', 'phone', 'x y', '', 'é', '😀', 'key', 'token')
const number = fc.oneof(
  fc.integer(),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.constantFrom(CARD, -CARD, PHONE, VALUE, 12345678, 5500000000000004, 1_790_000_000_000),
)
const numberText = fc.oneof(
  number.map((n) => JSON.stringify(n)),
  fc.constantFrom(
    `${CARD}e0`,
    `${CARD}.0`,
    `-${VALUE}E+2`,
    `9${VALUE}`,
    `1${VALUE}.${VALUE}`,
    `0.${CARD}`,
    `1e${VALUE % 100}`,
  ),
)
const string = fc.oneof(
  word,
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    `mail ${MAIL}`,
    `\n${MAIL}`,
    String(CARD),
    `[${CARD}]`,
    `{"a":${CARD}}`,
    `{"a":"${MAIL}`,
    '192.168.0.1',
    '\\',
    '"',
    '{"',
    '[1,',
    `x\n${ODD[0].slice(1)}`,
    ...ODD,
  ),
)
/** JSON as a text, with white space and escapes as any writer may put them. */
const quoted = fc.tuple(string, fc.infiniteStream(fc.nat({ max: 9 }))).map(([text, dice]) => {
  const units = text.split('').map((unit) => {
    const roll = dice.next().value
    const hex = `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
    if (roll === 0) return hex
    return unit === '/' && roll === 1 ? '\\/' : JSON.stringify(unit).slice(1, -1)
  })
  return `"${units.join('')}"`
})
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, depthSize: 'small' },
    quoted,
    numberText,
    fc.constantFrom('true', 'false', 'null'),
    list('[', tie('json'), ']'),
    list(
      '{',
      fc
        .tuple(quoted, spaces, spaces, tie('json'))
        .map(([name, a, b, value]) => `${name}${a}:${b}${value}`),
      '}',
    ),
    // JSON in a string of JSON.
    tie('json').map((inner) => JSON.stringify(inner)),
    tie('json').map((inner) => JSON.stringify(`${inner} `)),
  ),
}))
function list(open, item, close) {
  return fc
    .tuple(fc.array(fc.tuple(spaces, item, spaces), { maxLength: 4 }), spaces)
    .map(
      ([items, space]) => `${open}${items.map((one) => one.join('')).join(',') || space}${close}`,
    )
}
const document = fc
  .tuple(
    spaces,
    fc.oneof(
      list('[', json, ']'),
      list(
        '{',
        fc.tuple(quoted, json).map((m) => m.join(':')),
        '}',
      ),
    ),
    spaces,
  )
  .map((parts) => parts.join(''))

const parsed = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
const isHolder = (value) => typeof value === 'object' && value !== null
/** Compares values: a number may have become a string, a text another one; JSON in a text stays JSON. */
function same(before, after, where) {
  if (typeof before === 'number') {
    if (typeof after !== 'string') assert.equal(after, before, where)
    return
  }
  assert.equal(typeof after, typeof before, where)
  if (typeof before === 'string') {
    const inner = parsed(before)
    if (isHolder(inner)) {
      const shown = parsed(after)
      assert.ok(isHolder(shown), `${where}: ${before} became ${after}`)
      same(inner, shown, `${where}, in its text`)
    }
    return
  }
  if (!isHolder(before)) {
    // A registered value may hide a literal.
    return
  }
  assert.equal(Array.isArray(after), Array.isArray(before), where)
  if (Array.isArray(before)) {
    assert.equal(after.length, before.length, where)
    before.forEach((item, at) => same(item, after[at], `${where}/${at}`))
  } else if (Object.keys(before).length === Object.keys(after).length) {
    // Two names that are masked are one.
    for (const [name, item] of Object.entries(before)) {
      if (Object.hasOwn(after, name)) same(item, after[name], `${where}/${name}`)
    }
  }
}

const plain = createRedactor()
const valued = createRedactor({ values: [String(VALUE), ...ODD] })
const odd = createRedactor({ values: [String(VALUE)], mask: (kind) => `\\"${kind}\n` })

test('JSON in, JSON out: whole texts, nested texts, and every cut of a stream', () =>
  holds(
    'JSON in, JSON out',
    fc.property(
      document,
      fc.constantFrom(plain, valued, odd),
      fc.array(fc.nat(), { maxLength: 4 }),
      (text, redactor, at) => {
        const whole = redactor.redact(text)
        const value = parsed(whole)
        assert.notEqual(value, undefined, `${text}\nbecame ${whole}`)
        if (redactor !== valued) same(JSON.parse(text), value, '')
        for (let cut = 0; cut <= text.length; cut++) {
          const shown = streamed(redactor, text, [cut])
          if (shown !== whole) assert.equal(shown, whole, `${text} cut at ${cut}`)
        }
        const cuts = at.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b)
        assert.equal(streamed(redactor, text, cuts), whole)
        assert.equal(
          streamed(
            redactor,
            text,
            [...text].map((_, cut) => cut),
          ),
          whole,
        )
      },
    ),
    400,
  ))

test('JSON in, JSON out: the text of events, divided anywhere', () =>
  holds(
    'JSON in, JSON out of events',
    fc.asyncProperty(
      document,
      fc.constantFrom(plain, odd),
      fc.nat(),
      fc.nat({ max: 3 }),
      async (text, redactor, at, between) => {
        const cut = at % (text.length + 1)
        const parts = [text.slice(0, cut), text.slice(cut)]
        const texts = parts.map((chunk) => ({ type: 'text', chunk }))
        const others = Array.from({ length: between }, () => ({ type: 'reasoning', chunk: 'hm' }))
        const progress = { type: 'tool_progress', toolCallId: 'a', data: text }
        async function* events() {
          yield texts[0]
          yield* others
          if (between === 3) yield progress
          yield texts[1]
          yield { type: 'complete', text, fullContent: text }
        }
        const shown = []
        for await (const event of redactor.events(events())) shown.push(event)
        const joined = shown
          .filter((e) => e.type === 'text')
          .map((e) => e.chunk)
          .join('')
        // Another answer may begin where an event stands between: then it is read from its beginning.
        if (between !== 3 || !/^\s*[[{]/.test(parts[1]))
          assert.notEqual(parsed(joined), undefined, `${text} cut at ${cut} became ${joined}`)
        for (const name of ['text', 'fullContent'])
          assert.notEqual(
            parsed(shown.at(-1)[name]),
            undefined,
            `${text} became ${shown.at(-1)[name]}`,
          )
        if (between === 3) {
          const { data } = shown.find((e) => e.type === 'tool_progress')
          assert.notEqual(parsed(data), undefined, `${text} became ${data}`)
        }
      },
    ),
    300,
  ))
