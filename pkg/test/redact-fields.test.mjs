// Fields that are hidden: in values, and in JSON that stands in a text, wherever that is cut or other
// events divide it.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createRedactor } from 'turnlock/redact'
import { holds } from '../../tests/properties/hold.mjs'
import { Fields } from '../dist/redactor/fields.js'
import { divided } from './secrets.mjs'

const FIELD = '[redacted:field]'
const hiding = (...fields) => createRedactor({ fields })

test('a value alone is redacted as one in a list', () => {
  const { value } = createRedactor()
  assert.deepEqual([value(5), value(5n), value(null), value(true)], [5, 5n, null, true])
  assert.deepEqual(
    [value(4111111111111111), value(4111111111111111n)],
    Array(2).fill('[redacted:card]'),
  )
  assert.deepEqual([value(() => 1), value(Symbol('a'))], [undefined, undefined])
  assert.deepEqual(value([() => 1, 2]), [undefined, 2])
})

test('what is missing, empty or a flag is shown, under any name', () => {
  const shown = { password: null, secret: '', api_key: false, cookie: undefined, passwd: true }
  assert.deepEqual(createRedactor().value(shown), shown)
})

test('a value behind an option of a command has its name', () => {
  const { value } = createRedactor()
  assert.deepEqual(value(['--password', 'abc', '-secret', 'def', '--user', 'ada']), [
    '--password',
    FIELD,
    '-secret',
    FIELD,
    '--user',
    'ada',
  ])
  // Names that are one as a whole only.
  assert.deepEqual(value(['--cookie', 'abc', '-pwd', 'def']), ['--cookie', FIELD, '-pwd', FIELD])
  const words = ['the password', 'is long', '7-password', 'and new']
  assert.deepEqual(value(words), words)
  assert.deepEqual(value([['--password'], 'abc']), [['--password'], 'abc'])
})

test('a number behind a name is read with it, of any size', () => {
  const { value } = createRedactor()
  const shown = { tel: '[redacted:phone]', n: 5551234, m: 5551234n }
  for (const tel of [5551234, 5551234n]) assert.deepEqual(value({ ...shown, tel }), shown)
})

test('what has a JSON of its own is read as that; what has none is refused', () => {
  const { value } = createRedactor()
  assert.deepEqual(value({ toJSON: (key) => [key, 'ada@example.com'] }), ['', '[redacted:email]'])
  assert.throws(() => value([new Map()]), { message: /a Map has no JSON/ })
  assert.throws(() => value({ a: new Set() }), { message: /a Set has no JSON/ })
})

test('the quote behind a value is none of it', () => {
  const { value } = createRedactor({ values: ['registered"'] })
  assert.deepEqual(value({ n: 'registered', m: 'registered"' }), {
    n: 'registered',
    m: '[redacted:value]',
  })
})

test('a bigint is hidden by its name, as a number is', () =>
  assert.deepEqual(createRedactor().value({ secrets: 1234n, apiKeys: 1234, n: 1234n }), {
    secrets: FIELD,
    apiKeys: FIELD,
    n: 1234n,
  }))

test('a value whose name is hidden is shown', () =>
  assert.deepEqual(createRedactor().value({ 'bob@example.com': 'said hello' }), {
    '[redacted:email]': 'said hello',
  }))

test('two hundred and fifty-six levels are shown', () => {
  const deep = (levels, inner) => '['.repeat(levels) + inner + ']'.repeat(levels)
  const { value, redact } = hiding('pin')
  for (const levels of [257, 300]) {
    const text = deep(levels, '"x"')
    assert.equal(JSON.stringify(value(JSON.parse(text))), deep(256, `"${FIELD}"`))
    assert.equal(redact(text), deep(256, `"${FIELD}"`))
  }
  assert.equal(JSON.stringify(value(JSON.parse(deep(256, '"x"')))), deep(256, '"x"'))
  assert.equal(redact(deep(256, '"x"')), deep(256, '"x"'))
})

test('without fields, all levels of a text are shown', () => {
  const deep = '['.repeat(300) + '"x"' + ']'.repeat(300)
  assert.equal(createRedactor().redact(deep), deep)
})

test('of a long name in a text, the first 1024 characters are read', () => {
  const name = 'n'.repeat(1024)
  assert.equal(
    hiding(name).redact(`{"${name}":5,"${name}n":6,"${name.slice(1)}":7}`),
    `{"${name}":"${FIELD}","${name}n":"${FIELD}","${name.slice(1)}":7}`,
  )
})

test('a reader is open from the first bracket to the last', () => {
  for (const text of ['', 'x ', '{}', '[1] ', '{1']) {
    const reader = new Fields([])
    reader.feed(text)
    assert.equal(reader.isOpen, false, text)
  }
  for (const text of ['{', ' [1', '[[]', '{"a":{}', '{"a":"}']) {
    const reader = new Fields([])
    reader.feed(text)
    assert.equal(reader.isOpen, true, text)
  }
})

test('of the readers of a text that is divided often, the last ones are kept', async () => {
  // Only the reader of the second part knows the field; a part behind it begins one each.
  const shown = (parts) => divided(hiding('b'), ['{"q": "', '{"b": [', ...parts, 'plain'])
  const few = await shown(Array(13).fill('{'))
  assert.ok(few.includes(FIELD) && !few.includes('plain'), few)
  const many = await shown(Array(14).fill('{'))
  assert.ok(many.includes(FIELD) && many.endsWith('plain'), many)
})

test('a path that ends with any number of names hides all below', () => {
  const given = { a: { b: 1, c: { d: 2 } }, n: 3 }
  const shown = { a: { b: FIELD, c: FIELD }, n: 3 }
  const { value, redact } = hiding('/a/**')
  assert.deepEqual(value(given), shown)
  assert.deepEqual(JSON.parse(redact(JSON.stringify(given))), shown)
})

test('a path names an element by its place', () => {
  const { value, redact } = hiding('/0/id', '/1/pin', '/2')
  const given = [{ pin: 1, id: 5 }, { pin: 2 }, 3, { pin: 4, id: 6 }]
  const shown = [{ pin: 1, id: FIELD }, { pin: FIELD }, FIELD, { pin: 4, id: 6 }]
  assert.deepEqual(value(given), shown)
  assert.deepEqual(JSON.parse(redact(JSON.stringify(given))), shown)
})

/** JSON with a field `b`; `‡` stands where its value is. */
const TEXTS = [
  ['{"a":[],"b":5}', '{"a":[],"b":‡}'],
  ['{"a":{},"b":"x"}', '{"a":{},"b":‡}'],
  ['{"":1,"b":5}', '{"":1,"b":‡}'],
  ['{"\\"":1,"b":5}', '{"\\"":1,"b":‡}'],
  ['{"\\u0062":5,"n":1}', '{"\\u0062":‡,"n":1}'],
  ['{"b":{"c":{"d":1},"e":[{"f":2}]},"n":3}', '{"b":‡,"n":3}'],
  ['{"b":[["}"],"]"],"n":3}', '{"b":‡,"n":3}'],
  ['{"b":-1.5e+3,"n":3}', '{"b":‡,"n":3}'],
  ['{"b" : null\n,"n":3}', '{"b" : ‡\n,"n":3}'],
  ['{"a":[1,{"b":5}],"b":6}', '{"a":[1,{"b":5}],"b":‡}'],
  // No JSON: another one may begin behind it.
  ['{"b":} [1] {"b":2}', '{"b":} [1] {"b":‡}'],
  ['{"b"} 1 {b:1} {"b":2}', '{"b"} 1 {b:1} {"b":‡}'],
  ['{"a":"x\ny" {"b":2}', '{"a":"x\ny" {"b":‡}'],
  ['{"a":1 {"b":2}', '{"a":1 {"b":‡}'],
  ['{"a":1},"b":5,{"b":2}', '{"a":1},"b":5,{"b":‡}'],
  ['{"a":1;"b":5}', '{"a":1;"b":5}'],
  ['{"a":{"c":],"b":5}', '{"a":{"c":],"b":5}'],
]
for (const [given, shown] of TEXTS) {
  test(`a field in a text: ${JSON.stringify(given)}`, () => {
    const redactor = hiding('b')
    const expected = shown.replaceAll('‡', `"${FIELD}"`)
    assert.equal(redactor.redact(given), expected)
    for (let cut = 0; cut <= given.length; cut++) {
      const parts = [given.slice(0, cut), given.slice(cut)]
      assert.equal(parts.map(redactor.feed).join('') + redactor.end(), expected, `cut at ${cut}`)
    }
  })
}

/** Parts of an answer with something else between them. */
const PARTS = {
  'the value comes': [['{"b": ', '[4711, 4712], "n": 1}'], '"n": 1}'],
  'blanks, then the value': [['{"b":', ' ', '\n', '{"c": 4711}, "n": 1}'], '"n": 1}'],
  'within the value': [['{"b": [1, ', '[4711]], "n": 1}'], '"n": 1}'],
  'within a text': [['{"b": "47', '11", "n": 1}'], '"n": 1}'],
  'within the name': [['{"n": 1, "', 'b": 4711, "m": 2}'], '"m": 2}'],
  'another JSON begins': [['{"n": 1, ', '{"b": 4711, "m": 2}'], '"m": 2}'],
  'a fence begins': [['{"n": 1, ', '```json\n{"b": 4711, "m": 2}'], '"m": 2}'],
  'another JSON behind a text that is open': [['{"n": "x', 'see {"b": 4711, "m": 2}'], '"m": 2}'],
  'the same without spaces': [['{"n":"x', 'see{"b":4711,"m":2}'], '"m":2}'],
  'a text with brackets goes on': [['{"n": ["x', 'y [1]"], "b": 4711, "m": 2}'], '"m": 2}'],
  'a text with brackets in a word': [['{"n": ["x', 'y[1]"], "b": 4711, "m": 2}'], '"m": 2}'],
  'it begins with a bracket, and more follows': [
    ['{"a": "x"', ', "c": {"d": 1}, "b": 4711, "m": 2}'],
    '"m": 2}',
  ],
  'the second of two that are open': [['{"q": "a', '{",', 'x": 1, "b": 4711, "m": 2}'], '"m": 2}'],
  'one reads behind the other': [['{"n": "x', '{"b": 4711, "c": {"b": 4712}, "m": 2}'], '"m": 2}'],
  'two that are open': [['{"n": "x', 'y {"a": "x', 'z", "b": 4711, "m": 2}'], '"m": 2}'],
}
for (const [name, [parts, end]] of Object.entries(PARTS)) {
  test(`a field in an answer that another event divides: ${name}`, async () => {
    const events = parts.flatMap((chunk) => [
      { type: 'text', phase: 'unified', chunk },
      { type: 'tool_calls', toolCalls: [] },
    ])
    let shown = ''
    for await (const event of hiding('b').events(events.values())) shown += event.chunk ?? ''
    assert.ok(!shown.includes('47') && !shown.includes('11'), shown)
    assert.ok(shown.includes(FIELD) && shown.endsWith(end), shown)
  })
}

test('what another event divided goes on as it is, in parts too', async () => {
  const parts = ['{"a": ', null, '[1,', '{"b": 5}], ', '"b": 4711}', null, '[{"b": 6}]']
  const events = parts.map((chunk) =>
    chunk ? { type: 'text', phase: 'unified', chunk } : { type: 'tool_calls', toolCalls: [] },
  )
  const shown = async (redactor) => {
    let all = ''
    for await (const event of redactor.events(events.values())) all += event.chunk ?? ''
    return all
  }
  const whole = parts.join('')
  assert.equal(await shown(hiding('b')), whole.replace('4711', `"${FIELD}"`))
  assert.equal(await shown(createRedactor()), whole)
})

test('a value that two readers hide has one mask', async () => {
  const said = await divided(hiding('b'), ['{"n": 1, "b": ', '{"b": 4711}, "m": 2}'])
  assert.equal(said, `{"n": 1, "b": "${FIELD}", "m": 2}`)
})

test('without fields, a mask for them is not asked for', () => {
  const kinds = []
  const { redact } = createRedactor({ mask: (kind) => (kinds.push(kind), '‡') })
  assert.deepEqual([redact('{"b":5}'), kinds], ['{"b":5}', []])
})

test('a name that is no JSON is read as it stands', () => {
  assert.equal(hiding('a\\q').redact('{"a\\q":5}'), `{"a\\q":"${FIELD}"}`)
})

test('a name with a `~` or a `/`', () => {
  const { value } = hiding('/a~0b', '/c~1d', '/e~01')
  const shown = { 'a~b': FIELD, 'c/d': FIELD, 'e~1': FIELD, 'a~0b': 1, 'e/': 2 }
  assert.deepEqual(value({ ...shown, 'a~b': 3, 'c/d': 4, 'e~1': 5 }), shown)
})

test('a field is hidden, however often the string before it is divided', async () => {
  const redactor = createRedactor({ fields: ['/ssn'] })
  // What ends with a letter is held back; the text is read as cut there.
  const pieces = [
    'and {',
    'and {x',
    '{',
    '{x',
    '{"a":"b',
    '[{"a":',
    '[{"a":b',
    '[t',
    '[[1, 2',
    ' {"a":1,',
    'x {"a": {c',
    '[',
  ]
  for (const piece of pieces.map((piece) => JSON.stringify(piece).slice(1, -1))) {
    for (const pauses of [1, 2, 3, 5, 20]) {
      const before = `{"note":"${piece.repeat(pauses)}",`
      const chunks = ['{"note":"', ...Array(pauses).fill(piece), '","ssn":"123-45","then":1}']
      const said = await divided(redactor, chunks)
      assert.equal(said, `${before}"ssn":"[redacted:field]","then":1}`, `${piece} ${pauses}`)
    }
  }
})

test('what was cut before it takes no place of the text that is divided often', async () => {
  // Behind the second part, JSON that the first one began is none, or has ended.
  for (const [before, name] of [
    ['He said: {"q": "', '{'],
    ['He said: ["', ']'],
  ]) {
    const piece = '{\\"a\\":\\"b'
    const parts = [`{"${name}`, ...Array(20).fill(piece), '":1,"ssn":"123-45","then":1}']
    const said = await divided(hiding('/ssn'), [before, ...parts])
    const shown = before + parts.join('').replace('123-45', FIELD)
    assert.equal(said, shown, name)
  }
})

/** What a text may hold that begins like JSON, or ends it. */
const words = fc
  .array(fc.constantFrom('x', 't', 'hello', '{', '[', '{"a', '[t', '\\', ']', '}', '```', ' '), {
    maxLength: 6,
  })
  .map((all) => all.join(''))
/** Values with fields to hide among them, all of one digit that stands nowhere else. */
const hidden = fc.constantFrom(777_777, '777777', { in: '777777', and: [777_777] })
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(words, fc.constantFrom(1, true, null)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc
      .tuple(fc.dictionary(words, tie('value'), { maxKeys: 3 }), hidden)
      .map(([rest, deep]) => ({ ...rest, deep })),
  ),
}))
const documents = fc.record({
  before: value,
  ssn: hidden,
  list: fc.array(fc.record({ before: value, ssn: hidden })),
})

test('behind an answer that was cut anywhere, another one is read from its beginning', async () => {
  const redactor = createRedactor({ fields: ['/ssn'] })
  const answer = JSON.stringify({ note: 'a {b', list: [1, { a: [] }], ssn: '123-45', then: 'x' })
  for (let at = 0; at <= answer.length; at++) {
    const said = await divided(redactor, [answer.slice(0, at), ' {"a":1,"ssn":"777-77","b":2}'])
    assert.ok(!said.includes('777'), said)
    // It may be the value that was to come.
    const isValue = answer.slice(0, at).endsWith('"ssn":')
    assert.equal(said.includes('"b":2}'), !isValue, said)
  }
})

const part = fc.double({ min: 0, max: 1, noNaN: true })
/** An answer before it, and how much of that was given; or none. */
const cutOff = fc.option(fc.tuple(documents, part))

test('no field is shown of a text of JSON, wherever other events divide it', () =>
  holds(
    'fields of texts that are divided',
    fc.asyncProperty(
      documents,
      cutOff,
      fc.constantFrom(undefined, 1),
      fc.array(fc.tuple(part, fc.boolean()), { maxLength: 14 }),
      async (document, before, space, cuts) => {
        const text = JSON.stringify(document, null, space)
        const brackets = [...text.matchAll(/[{[]/g)].map(({ index }) => index)
        const at = cuts.map(([part, any]) =>
          any ? Math.floor(part * text.length) : brackets[Math.floor(part * (brackets.length - 1))],
        )
        const places = [0, ...at.sort((a, b) => a - b), text.length]
        const chunks = places.slice(1).map((to, index) => text.slice(places[index], to))
        const first = before ? JSON.stringify(before[0]) : 'Here: '
        const given = first.slice(0, before ? Math.floor(before[1] * first.length) : undefined)
        const redactor = createRedactor({ fields: ['/ssn', 'list.*.ssn', '**.deep'] })
        const said = await divided(redactor, [given, ...chunks])
        assert.ok(!said.includes('777'), said)
      },
    ),
    3000,
  ))
