// Redaction of JSON whose characters are written as escapes: what is masked does not depend on how
// the JSON was written, at any level and however a stream is cut.
//
// Public reports, rebuilt (read 2026-11-29): dotnet/corefx#39554 (quotes are `\u0022` by default) of
// 2019-07-16, dotnet/runtime#50998 (`+` is `\u002B`) of 2021-04-09, SwissLife-OSS/Confix#183 (the same)
// of 2026-04-30, MCKRUZ/microsoft-agentic-harness#391 (keys in nested JSON are missed) of 2026-08-14.
// PHP writes `\/` for a slash by default, and `\u0022` with JSON_HEX_QUOT.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { holds } from '../../tests/properties/hold.mjs'

const mask = () => '‡'
const CARD = 4111111111111111
const VALUE = 'registered/value+1'
const raw = String.raw

/** JSON in which a character of a text is an escape where `isCoded` says so. */
function written(value, isCoded) {
  const hex = (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  const coded = (one) => (one === '/' ? '\\/' : hex(one))
  if (typeof value === 'string') {
    const parts = value.split('').map((one) => {
      return one < '\x7f' && isCoded(one) ? coded(one) : JSON.stringify(one).slice(1, -1)
    })
    return `"${parts.join('')}"`
  }
  if (Array.isArray(value)) return `[${value.map((one) => written(one, isCoded)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
  return `{${members.map(([name, own]) => `${written(name, isCoded)}:${written(own, isCoded)}`).join(',')}}`
}

/** JSON in a string of JSON, in as many of them; `codedAt` says what is an escape at each level. */
function nested(value, levels, codedAt) {
  let text = written(value, codedAt(0))
  for (let level = 1; level <= levels; level++) {
    // No encoder writes the letters and digits of an escape as escapes.
    const isCoded = codedAt(level)
    text = written({ x: text }, (one) => !/[a-z\d]/i.test(one) && isCoded(one))
  }
  return text
}

function innermost(text, levels) {
  let read = text
  for (let level = 0; level < levels; level++) read = JSON.parse(read).x
  return JSON.parse(read)
}

function streamed(redactor, text, cuts) {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length]
  places.sort((a, b) => a - b)
  const parts = places.slice(1).map((end, at) => redactor.feed(text.slice(places[at], end)))
  return parts.join('') + redactor.end()
}

async function divided(redactor, text, cuts) {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length]
  places.sort((a, b) => a - b)
  async function* events() {
    for (let at = 1; at < places.length; at++)
      yield { type: 'text', chunk: text.slice(places[at - 1], places[at]) }
  }
  let shown = ''
  for await (const event of redactor.events(events())) shown += event.chunk ?? ''
  return shown
}

/** Whether an output is the input but for what masks stand for. */
function isPartly(output, input) {
  let at = 0
  for (const part of output.split(/(?:\\*")?‡(?:\\*")?/)) {
    const found = input.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return true
}

const member = fc.constantFrom(
  { password: 'hunter2xyz' },
  { password: 'hunter2"x\\yz' },
  { pan: CARD },
  { pan: String(CARD) },
  { phone: 14155552671 },
  { call: '+1 415 555 2671' },
  { email: 'ada@example.com' },
  { note: 'Write to ada@example.com, or to 203.0.113.7.' },
  { iban: 'DE89370400440532013000' },
  { url: 'https://ada:hunter2xyz@example.com/a?b=c' },
  { key: 'sk-proj-abcdef1234567890abcdef1234567890' },
  { text: `the text\n${VALUE}/b` },
  { plain: 'version 1.2.3.4 of a/b "c" <d>' },
  { list: ['ada@example.com', CARD, true, null, 17] },
)
const document = fc
  .array(member, { minLength: 1, maxLength: 3 })
  .map((members) => Object.assign({}, ...members))
/** Which characters are escapes: those of an encoder, or any. */
const encoder = fc.oneof(
  fc.constantFrom(
    (one) => one === '"',
    (one) => '"\'&<>+`'.includes(one),
    (one) => one === '"' || one === '\\',
    (one) => '/@:'.includes(one),
    () => false,
  ),
  fc.integer({ min: 0, max: 1000 }).map((seed) => {
    let state = seed
    return () => (state = (state * 1103515245 + 12345) % 2147483648) > 1800000000
  }),
)
const nesting = fc.record({
  value: document,
  levels: fc.nat(3),
  encoders: fc.array(encoder, { minLength: 4, maxLength: 4 }),
  cuts: fc.array(fc.nat(2000), { maxLength: 5 }),
})

test('escaped JSON: it is masked where its plain spelling is, and stays JSON', async () => {
  const property = fc.property(nesting, ({ value, levels, encoders, cuts }) => {
    const redactor = createRedactor({ mask, values: [VALUE] })
    const plain = nested(value, levels, () => () => false)
    const text = nested(value, levels, (level) => encoders[level])
    const shown = redactor.redact(text)
    const expected = innermost(redactor.redact(plain), levels)
    assert.deepEqual(innermost(shown, levels), expected, text)
    assert.ok(isPartly(shown, text), `${text} => ${shown}`)
    assert.equal(streamed(redactor, text, cuts), shown)
  })
  await holds('escaped JSON is masked as plain JSON', property, 400)
})

test('escaped JSON: events that divide it show no secret', async () => {
  const property = fc.asyncProperty(nesting, async ({ value, levels, encoders, cuts }) => {
    const redactor = createRedactor({ mask, values: [VALUE] })
    const text = nested(value, levels, (level) => encoders[level])
    const shown = await divided(redactor, text, cuts)
    assert.deepEqual(innermost(shown, levels), innermost(redactor.redact(text), levels), text)
  })
  await holds('escaped JSON in divided events', property, 200)
})

const ROWS = [
  [
    '{"x":"{\\u0022password\\u0022:\\u0022hunter2xyz\\u0022}"}',
    '{"x":"{\\u0022password\\u0022:\\u0022‡\\u0022}"}',
  ],
  [raw`{"x":"{\u0022pan\u0022:4111111111111111}"}`, raw`{"x":"{\u0022pan\u0022:\"‡\"}"}`],
  [
    raw`{"x":"{\u0022phone\u0022:14155552671,\u0022n\u0022:1}"}`,
    raw`{"x":"{\u0022phone\u0022:\"‡\",\u0022n\u0022:1}"}`,
  ],
  [raw`{"e":"ada\u0040example.com"}`, raw`{"e":"‡"}`],
  [raw`{"e":"\u0061d\u0061@example\u002ecom \u0061"}`, raw`{"e":"‡ \u0061"}`],
  [raw`{"pan":"\u0034111111111111111"}`, raw`{"pan":"‡"}`],
  [raw`{"p\u0061ssw\u006Frd":"hunter2xyz"}`, raw`{"p\u0061ssw\u006Frd":"‡"}`],
  [
    raw`{"u":"https:\/\/ada:hunter2xyz@example.com\/a\/b"}`,
    raw`{"u":"https:\/\/ada:‡@example.com\/a\/b"}`,
  ],
  [raw`{"h":"203\u002e0.113.7"}`, raw`{"h":"‡"}`],
  [raw`{"k":"sk\u002dproj\u002dabcdef1234567890abcdef1234567890"}`, raw`{"k":"‡"}`],
  [
    raw`{"a":"{\u0022b\u0022:\u0022{\\u0022password\\u0022:\\u0022hunter2xyz\\u0022}\u0022}"}`,
    raw`{"a":"{\u0022b\u0022:\u0022{\\u0022password\\u0022:\\u0022‡\\u0022}\u0022}"}`,
  ],
  [
    raw`{"a":"{\"b\":\"{\u005cu0022pan\u005c\u0022:4111111111111111}\"}"}`,
    raw`{"a":"{\"b\":\"{\u005cu0022pan\u005c\u0022:\\\"‡\\\"}\"}"}`,
  ],
  [raw`{"a":"{\"b\":\"registered\\/valu\\u0065+1\"}"}`, raw`{"a":"{\"b\":\"‡\"}"}`],
  [raw`{"A":"\u002B14155552671","B":"a \u002B b"}`, raw`{"A":"‡","B":"a \u002B b"}`],
  [
    raw`{"body":"{\u0022api_key\u0022:\u0022sk-1a2b3c4d\u0022,\u0022n\u0022:1}"}`,
    raw`{"body":"{\u0022api_key\u0022:\u0022‡\u0022,\u0022n\u0022:1}"}`,
  ],
  // What is no secret stays as it was written, also beginnings of escapes and paths.
  [
    raw`{"a":"\u0041\u0022\u005c\/\u00e9\u001b","b":"C:\\u0041\\"}`,
    raw`{"a":"\u0041\u0022\u005c\/\u00e9\u001b","b":"C:\\u0041\\"}`,
  ],
  [raw`C:\u00 \u \ \/ \u005`, raw`C:\u00 \u \ \/ \u005`],
]
for (const [text, expected] of ROWS) {
  test(`escaped JSON: ${text}`, async () => {
    const redactor = createRedactor({ mask, values: [VALUE] })
    assert.equal(redactor.redact(text), expected)
    for (let cut = 0; cut <= text.length; cut++)
      assert.equal(streamed(redactor, text, [cut]), expected, `cut at ${cut}`)
    const each = Array.from(text, (_, at) => at)
    assert.equal(streamed(redactor, text, each), expected, 'a character at a time')
    assert.equal(await divided(redactor, text, []), expected)
  })
}

test('escaped JSON: with another event in its middle it stays JSON, and no secret is whole', async () => {
  const secret = /hunter2xyz|4111111111111111|ada@example\.com|registered\/value\+1/
  const plain = (text) =>
    text
      .replace(/\\+u([\da-f]{4})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
      .replaceAll('\\/', '/')
  const texts = [
    ...ROWS.map(([text]) => text).filter((text) => secret.test(plain(text))),
    raw`{"e":"\u0061\u0064\u0061\u0040example\u002ecom"}`,
    raw`{"a":"registered\/valu\u0065+1","b":"x"}`,
    raw`{"password":"hunter2\u0078y\u007a","b":"\u0022"}`,
  ]
  assert.ok(texts.length > 10)
  for (const text of texts)
    for (let cut = 1; cut < text.length; cut++) {
      const redactor = createRedactor({ mask, values: [VALUE] })
      async function* events() {
        yield { type: 'text', chunk: text.slice(0, cut) }
        yield { type: 'tool.start', name: 'search', callId: '1' }
        yield { type: 'text', chunk: text.slice(cut) }
      }
      let shown = ''
      for await (const event of redactor.events(events())) shown += event.chunk ?? ''
      assert.doesNotThrow(() => JSON.parse(shown), `${text} cut at ${cut} => ${shown}`)
      assert.doesNotMatch(plain(shown), secret, `${text} cut at ${cut}`)
    }
})

test('escaped JSON: fields of values, and the texts of JSON in them', () => {
  const redactor = createRedactor({ mask, fields: ['/a/secret'] })
  const text = raw`{"pan":"\u0034111111111111111","password":"hunter2xyz"}`
  const own = redactor.value({ x: text, y: 'ada\\u0040example.com' })
  assert.deepEqual(JSON.parse(own.x), { pan: '‡', password: '‡' })
  assert.equal(own.y, '‡')
  assert.equal(
    redactor.redact(raw`{"a":{"s\u0065cret":5,"n":1}}`),
    raw`{"a":{"s\u0065cret":"‡","n":1}}`,
  )
})

test('escaped JSON: many levels, and backslashes without an end', () => {
  const redactor = createRedactor({ mask })
  const isQuote = () => (one) => one === '"'
  for (let levels = 0; levels < 8; levels++) {
    const text = nested({ e: 'ada@example.com', pan: CARD }, levels, isQuote)
    assert.deepEqual(innermost(redactor.redact(text), levels), { e: '‡', pan: '‡' }, text)
  }
  for (const count of [127, 128, 1023, 1024, 1025, 5000]) {
    const text = `${'\\'.repeat(count)}u0040 ada@example.com ${'\\u005c'.repeat(count)}u0040`
    const shown = text.replace('ada@example.com', '‡')
    assert.equal(redactor.redact(text), shown)
    assert.equal(streamed(redactor, text, [1, count, count + 3, count + 40]), shown)
  }
})
