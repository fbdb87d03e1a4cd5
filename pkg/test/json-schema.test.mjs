// The validator of JSON Schema: the tests of others for draft 7, keywords of draft 2020-12, and schemas of
// attackers.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import test from 'node:test'
import { defineTool } from 'turnlock'
import { compile, MOST_STEPS } from '../dist/json-schema/index.js'
import { data } from '../../tests/data.mjs'

const withPatterns = { patterns: true }
const without = { patterns: false }
const isValid = (schema, value, options = withPatterns) =>
  compile(schema, options).validate(value).valid

/** Groups of the suite, by file and description, whose verdict differs here, and why. */
const DIFFERENT = {
  // Keywords beside `$ref` count since draft 2019-09.
  'ref.json': [
    'ref overrides any sibling keywords',
    '$ref prevents a sibling $id from changing the base uri',
  ],
  // An annotation since draft 2019-09.
  'optional/content.json': [
    'validation of string-encoded content based on media type',
    'validation of binary string-encoding',
    'validation of binary-encoded media type documents',
  ],
  // The letters of international names are not looked at.
  'optional/format/hostname.json': ['validation of A-label (punycode) host names'],
}

/** Schemas that name others by address: nothing is fetched, so they are refused. */
const isRemote = (schema) => /"http:\/\/(json-schema\.org\/draft|localhost:1234)/.test(schema)

test('JSON Schema Test Suite: draft 7', () => {
  const folder = data('json-schema/draft7/')
  const files = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.json'))
  const counts = { right: 0, remote: 0, different: 0 }
  for (const file of files.map((name) => name.replaceAll('\\', '/')).sort()) {
    const groups = JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
    for (const { description, schema, tests } of groups) {
      const where = `${file}: ${description}`
      // The package takes objects alone.
      const object = typeof schema === 'boolean' ? { allOf: [schema] } : schema
      let validator
      let unchecked
      try {
        validator = compile(object, withPatterns)
        unchecked = compile(object, without)
      } catch (error) {
        assert.match(error.message, /^`\$ref` leads nowhere: /, where)
        assert.ok(isRemote(JSON.stringify(schema)), where)
        counts.remote += 1
        continue
      }
      const verdicts = tests.map((one) => validator.validate(one.data).valid === one.valid)
      if (DIFFERENT[file]?.includes(description)) {
        assert.ok(verdicts.includes(false), `${where}: is as in the suite`)
        counts.different += 1
        continue
      }
      for (const [at, one] of tests.entries()) {
        assert.ok(verdicts[at], `${where}: ${one.description}`)
        // Without its patterns a schema refuses no more than with them.
        if (one.valid) assert.ok(unchecked.validate(one.data).valid, `${where}: ${one.description}`)
        counts.right += 1
      }
    }
  }
  assert.deepEqual(counts, { right: 1483, remote: 14, different: 6 })
})

test('draft 2020-12: tuples, dynamic references, unevaluated members and items', () => {
  const tuple = { prefixItems: [{ type: 'string' }], items: { type: 'number' } }
  assert.equal(isValid(tuple, ['a', 1, 2]), true)
  assert.equal(isValid(tuple, ['a', 'b']), false)
  // An extension of a tree closes each of its nodes.
  const tree = {
    $id: 'https://x.example/tree',
    $dynamicAnchor: 'node',
    properties: { value: true, kids: { type: 'array', items: { $dynamicRef: '#node' } } },
  }
  const strict = {
    $id: 'https://x.example/strict',
    $dynamicAnchor: 'node',
    $ref: 'tree',
    unevaluatedProperties: false,
    $defs: { tree },
  }
  assert.equal(isValid(strict, { kids: [{ value: 1 }] }), true)
  assert.equal(isValid(strict, { kids: [{ velue: 1 }] }), false)
  assert.equal(isValid(tree, { kids: [{ velue: 1 }] }), true)
  const closed = {
    properties: { kind: true },
    if: { properties: { kind: { const: 'a' } }, required: ['kind'] },
    then: { properties: { a: true } },
    else: { anyOf: [{ properties: { b: true }, required: ['b'] }, { properties: { c: true } }] },
    unevaluatedProperties: false,
  }
  for (const [value, valid] of [
    [{ kind: 'a', a: 1 }, true],
    [{ kind: 'a', b: 1 }, false],
    [{ kind: 'b', b: 1, c: 1 }, true],
    [{ kind: 'b', a: 1 }, false],
  ]) {
    assert.equal(isValid(closed, value), valid, JSON.stringify(value))
  }
  // Siblings in `allOf` do not see each other.
  const cousins = { allOf: [{ properties: { a: true } }, { unevaluatedProperties: false }] }
  assert.equal(isValid(cousins, { a: 1 }), false)
  const contained = { contains: { type: 'string' }, unevaluatedItems: { type: 'number' } }
  assert.equal(isValid(contained, ['a', 1]), true)
  assert.equal(isValid(contained, ['a', null]), false)
  // OpenAPI 3.0, and draft 4.
  const over = { minimum: 1, exclusiveMinimum: true, maximum: 3, exclusiveMaximum: false }
  assert.deepEqual(
    [1, 2, 3, 4].map((value) => isValid(over, value)),
    [false, true, true, false],
  )
})

test('a regular expression that is not run decides nothing, wherever it stands', () => {
  const p = { pattern: '^(a+)+$' }
  for (const schema of [
    p,
    { not: p },
    { not: { not: p } },
    { anyOf: [p, { type: 'number' }] },
    { oneOf: [p, { const: 'a' }] },
    { oneOf: [{ not: p }, p] },
    { if: p, then: { const: 'a' }, else: { const: 'b' } },
    { pattern: ['(a+)+$'] },
    { pattern: { a: 1 } },
    { format: 'regex' },
    { enum: ['a'], not: { format: 'regex' } },
  ]) {
    assert.equal(isValid(schema, 'a', without), true, JSON.stringify(schema))
  }
  const fails = [
    { anyOf: [{ ...p, type: 'number' }] },
    { oneOf: [p, {}, true] },
    { if: p, then: { const: 'b' }, else: { const: 'b' } },
    { allOf: [p, { maxLength: 0 }] },
  ]
  for (const schema of fails) assert.equal(isValid(schema, 'a', without), false)
  const open = { patternProperties: { '^(a+)+$': false }, additionalProperties: false }
  assert.equal(isValid(open, { a: 1 }, without), true)
  assert.equal(
    isValid({ ...open, properties: { a: { type: 'string' } } }, { a: 1 }, without),
    false,
  )
  assert.equal(isValid({ allOf: [open], unevaluatedProperties: false }, { a: 1 }, without), true)
  assert.equal(isValid({ propertyNames: p }, { a: 1 }, without), true)
  assert.equal(isValid({ contains: p, maxContains: 1 }, ['a', 'b'], without), true)
  assert.equal(isValid({ contains: { ...p, minLength: 2 } }, ['a'], without), false)
})

test('a reference follows own members alone, in every spelling', () => {
  const spellings = [
    '#/__proto__',
    '#/constructor',
    '#/constructor/prototype',
    '#/toString',
    '#/x/__proto__',
    '#/x/constructor/prototype',
    '#/%5F%5Fproto%5F%5F',
    '#/x/%63onstructor/prototype',
    '#/x/a~1b/__proto__',
    '#/x/a~1b/constructor',
    '#/list/constructor',
    '#/list/length',
    '#/list/0/__proto__',
    '#__proto__',
    '#constructor',
    '#%5F_proto__',
    '#/%E0%A4%A',
    '#%zz',
    '__proto__',
    'constructor#/prototype',
    'x#__proto__',
    '#/x/text/0',
    '#/x/text/length',
    '#/$defs/__proto__',
    '#/properties/__proto__',
    '#/x/null/a',
    '//',
    'http://[',
    '',
  ]
  const untouched = () =>
    [Object.prototype, Array.prototype, Function.prototype, Object].map((one) =>
      Reflect.ownKeys(one).map(String).sort().join(),
    )
  const before = untouched()
  const prototype = { ...Object.getOwnPropertyDescriptors(Object.prototype) }
  for (const $ref of spellings) {
    for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const schema = {
        type: 'object',
        properties: { a: { [keyword]: $ref } },
        x: { 'a/b': {}, text: 'text', null: null },
        list: [{}],
        $defs: {},
      }
      // An empty reference is the schema itself.
      if ($ref === '') assert.equal(isValid(schema, { a: { a: {} } }), true)
      else assert.throws(() => compile(schema, withPatterns), /leads nowhere/, $ref)
    }
  }
  // Own members may have such names.
  const text = `{ "$defs": { "__proto__": { "type": "string", "$anchor": "constructor" } },
    "properties": { "__proto__": { "$ref": "#/$defs/__proto__" }, "a": { "$ref": "#constructor" } },
    "required": ["__proto__"], "x": { "constructor": { "type": "number" } } }`
  const schema = JSON.parse(text)
  assert.equal(isValid(schema, JSON.parse('{ "__proto__": "a", "a": "b" }')), true)
  assert.equal(isValid(schema, JSON.parse('{ "__proto__": 1 }')), false)
  assert.equal(isValid(schema, JSON.parse('{ "__proto__": "a", "a": 1 }')), false)
  assert.equal(isValid(schema, {}), false, 'an inherited member is no member')
  assert.equal(isValid({ required: ['constructor', 'toString'] }, {}), false)
  assert.equal(isValid({ dependentRequired: { toString: ['a'] } }, {}), true)
  assert.deepEqual(untouched(), before)
  assert.deepEqual({ ...Object.getOwnPropertyDescriptors(Object.prototype) }, prototype)
})

test('an invalid keyword is named with its place, whoever reads it', () => {
  for (const [own, expected] of [
    [{ enum: 'x' }, /`enum` at #\/properties\/a must be a list/],
    [{ required: true }, /`required` at #\/properties\/a must be a list of names/],
    [{ required: null }, /`required`/],
    [{ properties: { b: 'string' } }, /`properties\/b` at #\/properties\/a must be a schema/],
    [{ anyOf: {} }, /`anyOf` at #\/properties\/a must be a list of schemas/],
    [{ type: 'int' }, /`type` at #\/properties\/a must be a JSON type/],
    [{ minimum: '1' }, /`minimum`/],
    [{ $ref: 5 }, /`\$ref`/],
  ]) {
    const { broken, rootBroken, validate } = compile({ properties: { a: own } }, withPatterns)
    assert.match(broken, expected)
    assert.equal(rootBroken, undefined)
    assert.equal(validate({}).valid, true)
    assert.match(validate({ a: 1 }).errors[0].error, expected)
    // Not the opposite either.
    assert.equal(isValid({ not: { properties: { a: own } } }, { a: 1 }), false)
    const inputSchema = { ...own, type: own.type ?? 'object' }
    const define = () => defineTool({ description: 'x', inputSchema, execute: () => null })
    assert.throws(define, { code: 'tool.invalid_schema' })
  }
})

test('the steps of a check are bounded, and a reason is given', () => {
  const of = (a) => ({ type: 'object', properties: { a } })
  const numbers = (count) => Array.from({ length: count }, (_, n) => n)
  const many = (count, make) => Array.from({ length: count }, (_, n) => make(n))
  for (const [name, schema, value] of [
    ['allOf × items', of({ items: { allOf: many(2000, () => ({})) } }), numbers(2000)],
    ['anyOf × items', of({ items: { anyOf: many(2000, (n) => n === 1999) } }), numbers(2000)],
    ['oneOf × items', of({ items: { oneOf: many(2000, (n) => n === 1999) } }), numbers(2000)],
    [
      'contains',
      of({ allOf: many(2000, () => ({ contains: false, minContains: 0 })) }),
      numbers(2000),
    ],
    ['enum', of({ allOf: many(2000, (n) => ({ not: { enum: [[n]] } })) }), numbers(2000)],
    ['uniqueItems', of({ allOf: many(2000, () => ({ uniqueItems: 1 })) }), numbers(2000)],
    [
      'required',
      of({ items: { not: { required: many(2000, (n) => `a${n}`) } } }),
      many(2000, () => ({})),
    ],
    ['lengths', of({ allOf: many(2000, () => ({ maxLength: 600_000 })) }), 'x'.repeat(1_000_000)],
    ['formats', of({ allOf: many(2000, () => ({ format: 'uri' })) }), `a:${'x'.repeat(1_000_000)}`],
    [
      'patterns',
      of({ items: { allOf: many(500, () => ({ pattern: 'x' })) } }),
      many(2000, () => 'x'),
    ],
    [
      'unevaluated',
      of({ allOf: many(2000, () => ({ properties: {}, unevaluatedProperties: true })) }),
      Object.fromEntries(numbers(2000).map((n) => [`a${n}`, n])),
    ],
    [
      'names × patternProperties',
      of({ patternProperties: Object.fromEntries(numbers(2000).map((n) => [`^b${n}$`, true])) }),
      Object.fromEntries(numbers(2000).map((n) => [`a${n}`, n])),
    ],
    [
      'dynamic scope',
      {
        ...of({ $dynamicRef: '#n' }),
        $defs: {
          n: {
            $dynamicAnchor: 'n',
            items: { anyOf: [{ $dynamicRef: '#n' }, { $dynamicRef: '#n' }] },
          },
        },
      },
      many(40, (n) => n).reduce((inner) => [inner, inner], 1),
    ],
  ]) {
    const { valid, errors, steps } = compile(schema, withPatterns).validate({ a: value })
    assert.ok(steps <= 2.2 * MOST_STEPS, `${name}: ${steps}`)
    assert.equal(valid, false, name)
    assert.match(errors.at(-1).error, /more than 1000000 steps|longer than/, name)
  }
  for (const schema of [
    of({ $ref: '#/properties/a' }),
    of({ allOf: [{ $ref: '#/properties/a' }] }),
  ]) {
    assert.match(compile(schema, withPatterns).validate({ a: 1 }).errors[0].error, /references/)
  }
})

test('a unique list of 100 000 items is checked in steps that grow with its length', () => {
  const steps = (count) => {
    const list = Array.from({ length: count }, (_, n) => (n % 2 ? n : { n }))
    const verdict = compile({ uniqueItems: true }, withPatterns).validate(list)
    assert.equal(verdict.valid, true)
    return verdict.steps
  }
  assert.ok(steps(100_000) < 11 * steps(10_000))
  const unique = (...list) => isValid({ uniqueItems: true }, list)
  assert.equal(unique(1, '1', true, null, 'true', 'null', [1], ['1'], {}, [], '[1]', '"1"'), true)
  for (const pair of [
    [1, 1],
    ['a', 'a'],
    [0, -0],
    [
      { a: 1, b: [2] },
      { b: [2], a: 1 },
    ],
    ['[1]', '[1]'],
  ]) {
    assert.equal(unique(...pair), false, JSON.stringify(pair))
  }
})

test('formats take time in proportion to their texts', () => {
  // Each took an expression exponential or quadratic time, or the stack of the engine.
  const long = 'a'.repeat(300_000)
  const texts = [
    `http://${long}!`,
    `http://${long}.-`,
    `${long}@${long}`,
    `"${long}`,
    long,
    '/~1'.repeat(100_000),
  ]
  const formats = [
    'url',
    'uri',
    'uri-reference',
    'uri-template',
    'email',
    'hostname',
    'ipv6',
    'ipv4',
  ]
  formats.push(
    'duration',
    'date-time',
    'time',
    'json-pointer',
    'relative-json-pointer',
    'regex',
    'uuid',
  )
  for (const format of formats) {
    for (const text of texts) {
      const { steps } = compile({ format }, withPatterns).validate(text)
      assert.ok(steps < 100_000, `${format}: ${steps}`)
    }
  }
})
