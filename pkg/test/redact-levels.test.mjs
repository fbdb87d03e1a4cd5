// Redaction of JSON in strings of JSON, also where a string stands alone: JSON that was encoded n times
// can be decoded n times afterwards, and has the same shape.
//
// Public reports, rebuilt (read 2026-11-30): activeloopai/hivemind#361 (2026-09-17),
// openclaw/openclaw#113709 (2026-09-10), kolega-ai/kolega-code#341 (2026-07-27),
// p2pool-starter-stack/pithead#1590 (2026-08-30).
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { holds } from '../../tests/properties/hold.mjs'

const CARD = 4111111111111111
const MAIL = 'ada@example.com'

const encoded = (value, times) => {
  let text = value
  for (let time = 0; time < times; time++) text = JSON.stringify(text)
  return text
}
const decoded = (text, times) => {
  let value = text
  for (let time = 0; time < times; time++) value = JSON.parse(value)
  return value
}
const streamed = (redactor, text, cut) =>
  redactor.feed(text.slice(0, cut)) + redactor.feed(text.slice(cut)) + redactor.end()

test('encoded JSON: a mask in place of a number is a string at every level', () => {
  const { redact } = createRedactor({ mask: (kind) => `<"${kind}">` })
  const value = { pan: CARD, list: [CARD, `to ${MAIL}`], negative: -CARD, [CARD]: true }
  const expected = {
    pan: '<"card">',
    list: ['<"card">', 'to <"email">'],
    negative: '-<"card">',
    '<"card">': true,
  }
  for (let times = 1; times <= 8; times++) {
    const text = encoded(value, times)
    assert.deepEqual(decoded(redact(text), times), expected, `encoded ${times} times`)
  }
})

test('encoded JSON: a string of JSON is read in a line, after a word and as a value', () => {
  const { redact } = createRedactor()
  const once = JSON.stringify(`[${CARD}]`)
  const shown = '"[\\"[redacted:card]\\"]"'
  const around = ['‡', 'x: ‡', 'x ‡ y', 'data: ‡\n\n', '‡\n‡\n', 'body=‡ n=1', 'f(‡,‡)', '<a>‡</a>']
  for (const text of around) {
    assert.equal(redact(text.replaceAll('‡', once)), text.replaceAll('‡', shown), text)
    const twice = JSON.stringify(text.replaceAll('‡', once))
    assert.equal(JSON.parse(redact(twice)), text.replaceAll('‡', shown), twice)
  }
})

test('encoded JSON: quotes of a sentence leave JSON in it as it is', () => {
  const { redact } = createRedactor()
  const rows = {
    [`5" x {"pan":${CARD}}`]: '5" x {"pan":"[redacted:card]"}',
    [`say "{"pan":${CARD}}" now`]: 'say "{"pan":"[redacted:card]"}" now',
    [`a: "b {"pan":${CARD},"c":[${CARD}]}`]:
      'a: "b {"pan":"[redacted:card]","c":["[redacted:card]"]}',
    [`"a" and "b", {"pan":${CARD}}`]: '"a" and "b", {"pan":"[redacted:card]"}',
    [`"a\n{"pan":${CARD}}`]: '"a\n{"pan":"[redacted:card]"}',
    [`"to ${MAIL}`]: '"to [redacted:email]',
  }
  for (const [text, expected] of Object.entries(rows)) assert.equal(redact(text), expected, text)
})

test('encoded JSON: a value of a member keeps the escapes that it has', () => {
  const { value } = createRedactor({ mask: (kind) => `"${kind}"` })
  const once = `[${CARD}]`
  assert.deepEqual(value({ once, twice: JSON.stringify(once), mail: MAIL, pan: `a ${CARD}` }), {
    once: '["\\"card\\""]',
    twice: JSON.stringify('["\\"card\\""]'),
    mail: '"email"',
    pan: 'a "card"',
  })
})

test('encoded JSON: public reports, rebuilt', () => {
  const { redact } = createRedactor()
  const key = 'q9X7vB2nM4kL8pT3wZ6yR1sD'
  const secrets = [
    // hivemind#361: backslashes and quotes at the end of a secret, encoded twice.
    'export PASSWORD=abc1x"',
    'password="hunter2 words" next',
    `token=${key}\\z\\`,
    // openclaw#113709: a name of a secret before signs that are no value.
    'echo "=== deploy token ==="',
    // kolega-code#341: the backslash after a secret in a text in quotes.
    `f"…token=${key}"`,
    // pithead#1590: other cases of names, and values that are no texts.
    { apiKey: key, AUTHTOKEN: key, PASSWORD: 'hunter2 words', password: CARD },
  ]
  for (const secret of secrets) {
    for (let times = 1; times <= 2; times++) {
      const text = encoded({ content: JSON.stringify({ tool_input: secret }) }, times)
      const shown = redact(text)
      const { tool_input } = JSON.parse(decoded(shown, times).content)
      assert.equal(typeof tool_input, typeof secret, text)
      assert.doesNotMatch(shown, /q9X7|hunter2|4111/, text)
    }
  }
})

/** Values whose masks must not change their shape: texts that are JSON, too, of two more levels. */
const leaf = fc.oneof(
  fc.integer(),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.constantFrom(CARD, -CARD, 14155552671, true, null, 'word', `mail ${MAIL}`, String(CARD)),
  fc.constantFrom(`[${CARD}]`, `see {"pan":${CARD}}`, `"[${CARD}]"`, 'a "b" c', '\\', '"', '{"'),
  fc.string({ maxLength: 6 }),
)
const name = fc.constantFrom('pan', 'n', 'text', 'x y', 'a"b', 'tel')
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3, depthSize: 'small' }, leaf, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 3 }),
  object: fc.dictionary(name, tie('value'), { maxKeys: 3 }),
}))
/** A text that is one number is a text: its mask has no quotes. */
const documents = value.filter((given) => typeof given !== 'number')

/** Compares what is decoded: a number may be a text, and a text another one that parses as it did. */
function same(before, after, where) {
  if (typeof before === 'number' && typeof after === 'string') return
  if (typeof before !== 'string' && (typeof before !== 'object' || before === null)) {
    assert.deepEqual(after, before, where)
    return
  }
  assert.equal(typeof after, typeof before, where)
  if (typeof before === 'string') {
    let inner
    try {
      inner = JSON.parse(before)
    } catch {
      return
    }
    if (typeof inner !== 'number') same(inner, JSON.parse(after), `${where}, in its text`)
    return
  }
  assert.equal(Array.isArray(after), Array.isArray(before), where)
  assert.equal(Object.keys(after).length, Object.keys(before).length, where)
  for (const [member, item] of Object.entries(before))
    same(item, after[member], `${where}/${member}`)
}

test('JSON in, JSON out: values that are encoded several times', () =>
  holds(
    'JSON in, JSON out at every level',
    fc.property(documents, fc.integer({ min: 1, max: 5 }), fc.nat(), (given, times, at) => {
      const redactor = createRedactor()
      const text = encoded(given, times)
      const shown = redactor.redact(text)
      same(given, decoded(shown, times), '')
      assert.equal(streamed(redactor, text, at % (text.length + 1)), shown)
      const member = redactor.value({ member: text }).member
      same(given, decoded(member, times), 'member')
    }),
    400,
  ))

test('JSON in, JSON out: encoded values in the texts of events', () =>
  holds(
    'JSON in, JSON out at every level of events',
    fc.asyncProperty(documents, fc.integer({ min: 1, max: 4 }), async (given, times) => {
      const text = encoded(given, times)
      async function* events() {
        yield { type: 'tool_progress', toolCallId: 'a', data: text }
        yield { type: 'text', chunk: text }
        yield {
          type: 'tool_results',
          toolResults: [{ name: 'note', args: { text }, result: text }],
        }
        yield { type: 'complete', text, fullContent: text }
      }
      for await (const event of createRedactor().events(events())) {
        const { data, chunk, toolResults = [], fullContent } = event
        const [call] = toolResults
        for (const shown of [data, chunk, call?.args.text, call?.result, event.text, fullContent]) {
          if (shown !== undefined) same(given, decoded(shown, times), event.type)
        }
      }
    }),
    200,
  ))

test('encoded JSON: fields are hidden in strings of JSON, by their path in them and in the whole', () => {
  const FIELD = '[redacted:field]'
  const given = { body: JSON.stringify({ pin: 'x1', list: [1, { pin: [2, 'y'] }] }), n: 1 }
  const shown = (inner) => ({ body: JSON.stringify(inner), n: 1 })
  const rows = [
    [['pin'], shown({ pin: FIELD, list: [1, { pin: [2, 'y'] }] })],
    [['/body/pin'], shown({ pin: FIELD, list: [1, { pin: [2, 'y'] }] })],
    [['body.list.1'], shown({ pin: 'x1', list: [1, FIELD] })],
    [['**.pin'], shown({ pin: FIELD, list: [1, { pin: FIELD }] })],
    [['body'], { body: FIELD, n: 1 }],
  ]
  for (const [fields, expected] of rows) {
    const redactor = createRedactor({ fields })
    assert.deepEqual(redactor.value(given), expected, fields.join())
    for (let times = 1; times <= 6; times++) {
      const text = encoded(given, times)
      assert.deepEqual(decoded(redactor.redact(text), times), expected, `${fields}, ${times}`)
    }
  }
})

test('encoded JSON: fields in strings of odd spelling, cut strings and quotes of a sentence', () => {
  const { redact } = createRedactor({ fields: ['pin'], mask: () => '*' })
  const rows = {
    '{"a":"{\\u0022pin\\u0022:\\u0022x1\\u0022}"}': '{"a":"{\\u0022pin\\u0022:\\"*\\"}"}',
    '{"a":"see {\\"pin\\":12} and {\\"pin\\":\\n[1]}","b":2}':
      '{"a":"see {\\"pin\\":\\"*\\"} and {\\"pin\\":\\n\\"*\\"}","b":2}',
    '{"a":"{\\"pin\\":\\"x1","b":"x2"}': '{"a":"{\\"pin\\":\\"*\\"","b":"x2"}',
    '{"a":"{\\"pin\\":12","pin":3}': '{"a":"{\\"pin\\":\\"*\\"","pin":"*"}',
    'log: "{"pin":12,"n":1}" end': 'log: "{"pin":"*","n":1}" end',
    'log: "{\\"pin\\":12}" {"pin":3}': 'log: "{\\"pin\\":\\"*\\"}" {"pin":"*"}',
  }
  for (const [text, expected] of Object.entries(rows)) {
    assert.equal(redact(text), expected, text)
    const redactor = createRedactor({ fields: ['pin'], mask: () => '*' })
    for (let cut = 0; cut <= text.length; cut++)
      assert.equal(streamed(redactor, text, cut), expected)
  }
})

const hidden = fc.constantFrom('zz1', 98765, ['zz2', { a: 'zz3' }], { b: ['zz4"\\'] })
const { holder } = fc.letrec((tie) => ({
  holder: fc.dictionary(
    fc.constantFrom('a', 'b"c', 'x'),
    fc.oneof(
      { maxDepth: 3, depthSize: 'small' },
      fc.constantFrom('word', 1, null, '{"', 'a "b'),
      fc.array(tie('holder'), { maxLength: 2 }),
      tie('holder'),
      tie('holder').map((inner) => JSON.stringify(inner)),
      tie('holder').map((inner) => `see ${JSON.stringify(inner)}!`),
      fc.record({ pin: hidden, n: fc.constant(7) }),
      fc.record({ pin: hidden }).map((inner) => JSON.stringify([inner, 5])),
    ),
    { maxKeys: 3 },
  ),
}))

test('encoded JSON: no field is shown at any level, however a stream is cut or divided', () =>
  holds(
    'fields at every level',
    fc.asyncProperty(holder, fc.integer({ min: 1, max: 3 }), fc.nat(), async (given, times, at) => {
      const redactor = createRedactor({ fields: ['**.pin'], kinds: ['value'] })
      const text = encoded(given, times)
      const shown = redactor.redact(text)
      assert.deepEqual(decoded(shown, times), redactor.value(given))
      assert.doesNotMatch(shown, /zz\d|98765/)
      const cut = at % (text.length + 1)
      assert.equal(streamed(redactor, text, cut), shown)
      async function* events() {
        yield { type: 'text', chunk: text.slice(0, cut) }
        yield { type: 'tool_progress', toolCallId: 'a', data: text }
        yield { type: 'text', chunk: text.slice(cut) }
      }
      let [joined, data] = ['', '']
      for await (const event of redactor.events(events())) {
        joined += event.chunk ?? ''
        data += event.data ?? ''
      }
      assert.equal(data, shown)
      assert.doesNotMatch(joined, /zz\d|98765/, `${text} cut at ${cut}`)
      // Where another answer may begin, it is read from its beginning.
      if (!/^\s*[[{"]/.test(text.slice(cut))) decoded(joined, times)
    }),
    500,
  ))
