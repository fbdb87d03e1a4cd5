// JSON Schemas and data that nobody thought of: each check ends after counted steps, no expression of a
// server is made, and nothing inherited is followed or changed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compile, MOST_STEPS } from '../../pkg/dist/json-schema/index.js'
import { holds } from './hold.mjs'

const SLOW = '^(a+)+$'
const names = fc.constantFrom(
  'a',
  'b',
  'a/b',
  '__proto__',
  'constructor',
  'pattern',
  '$ref',
  'enum',
)
const refs = fc.constantFrom(
  '#',
  '#/$defs/a',
  '#/$defs/b',
  '#/$defs/__proto__',
  '#/default',
  '#/enum/0',
  '#/x/a~1b',

  '#/x/pattern',
  '#/__proto__',
  '#/constructor/prototype',
  '#/%5f_proto__',
  '#a',
  '#constructor',
  '#/properties/a',
  '#/properties/a/items',
  'https://x.example/a',
  '#/x/a%2Fb',
)
const patterns = fc.oneof(
  fc.constantFrom(SLOW, [SLOW], { [SLOW]: SLOW }, { toString: SLOW }),
  fc.string({ maxLength: 4 }),
)
const small = fc.integer({ min: -1, max: 4 })

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('', 'a', `${'a'.repeat(40)}!`, null, true, 0, 1.5, 2),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(names, tie('value')), { selector: ([name]) => name, maxLength: 4 })
      .map(object),
  ),
}))

/** As JSON.parse makes it: `__proto__` is an own member. */
function object(entries) {
  return Object.fromEntries(entries)
}

const { schema } = fc.letrec((tie) => {
  const one = tie('schema')
  const list = fc.array(one, { maxLength: 3 })
  const map = fc.array(fc.tuple(names, one), { maxLength: 3 }).map(object)
  const keyword = fc.oneof(
    fc.record(
      {
        pattern: patterns,
        patternProperties: fc.oneof(fc.constant({ [SLOW]: {} }), map, patterns),
        format: fc.constantFrom('regex', 'uri', 'url', 'email', SLOW),
        $ref: refs,
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        properties: map,
        additionalProperties: one,
        unevaluatedProperties: one,
        propertyNames: one,
        dependentSchemas: map,
        required: fc.array(names, { maxLength: 2 }),
        dependencies: map,
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        items: fc.oneof(one, list),
        prefixItems: list,
        contains: one,
        minContains: small,
        uniqueItems: fc.constantFrom(true, 1, false),
        unevaluatedItems: one,
        maxItems: small,
      },
      { requiredKeys: [] },
    ),
    fc.record(
      { allOf: list, anyOf: list, oneOf: list, not: one, if: one, then: one, else: one },
      { requiredKeys: [] },
    ),
    fc.record(
      { enum: fc.array(value, { maxLength: 3 }), const: value, default: one, examples: list },
      { requiredKeys: [] },
    ),
    fc.record(
      { $dynamicRef: refs, $dynamicAnchor: fc.constantFrom('a', 'constructor'), $anchor: names },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        type: fc.constantFrom('object', 'array', 'string', ['number', 'null'], 'int'),
        minimum: small,
        multipleOf: small,
        maxLength: small,
      },
      { requiredKeys: [] },
    ),
    // Anything where a keyword stands.
    fc.record(
      { items: value, properties: value, allOf: value, $ref: value, $defs: value },
      { requiredKeys: [] },
    ),
  )
  return {
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom(true, false, {}),
      keyword,
      fc.tuple(keyword, keyword).map(([a, b]) => ({ ...a, ...b })),
    ),
  }
})

const documents = fc
  .tuple(schema, fc.array(fc.tuple(names, schema), { maxLength: 3 }).map(object), schema, value)
  .map(([root, $defs, other, data]) => [
    {
      ...(typeof root === 'object' ? root : { allOf: [root] }),
      $defs,
      default: { pattern: SLOW },
      x: { 'a/b': other, pattern: [SLOW] },
    },
    data,
  ])

/** The sources of the expressions that are made while `work` runs. */
function expressionsIn(work) {
  const { RegExp } = globalThis
  const sources = []
  globalThis.RegExp = new Proxy(RegExp, {
    construct: (made, args) => (sources.push(args[0]), Reflect.construct(made, args)),
    apply: (made, self, args) => (sources.push(args[0]), Reflect.apply(made, self, args)),
  })
  try {
    work()
  } finally {
    globalThis.RegExp = RegExp
  }
  return sources
}

const prototypes = () =>
  [Object, Array, Function, String].map((made) =>
    Reflect.ownKeys(made.prototype).map(String).join(),
  )

test('without patterns: no expression is made, steps are bounded, prototypes stay as they are', async () => {
  const before = prototypes()
  const counts = { compiled: 0, valid: 0 }
  const property = fc.property(documents, ([document, data]) => {
    const sources = expressionsIn(() => {
      let validator
      try {
        validator = compile(document, { patterns: false })
      } catch (error) {
        assert.match(error.message, /leads nowhere|not a valid URI/)
        return
      }
      counts.compiled += 1
      const { valid, errors, steps } = validator.validate(data)
      counts.valid += valid ? 1 : 0
      assert.ok(steps <= 2.2 * MOST_STEPS, String(steps))
      assert.equal(valid, errors.length === 0)
      assert.ok(errors.length <= 20)
    })
    assert.deepEqual(sources, [])
    assert.deepEqual(prototypes(), before)
  })
  await holds('schemas without patterns', property, 3000)
  // Else the generator makes none that are looked at.
  assert.ok(counts.compiled > 500 && counts.valid > 100, JSON.stringify(counts))
})

test('what is valid with patterns is valid without', async () => {
  let compared = 0
  const property = fc.property(documents, ([document, data]) => {
    // Expressions of the generator would take minutes on some of its texts.
    const text = JSON.stringify(document).replaceAll(SLOW, '^a+$')
    const parsed = JSON.parse(text)
    let validator
    try {
      validator = compile(parsed, { patterns: true })
    } catch {
      return
    }
    if (!validator.validate(data).valid) return
    compared += 1
    assert.equal(compile(parsed, { patterns: false }).validate(data).valid, true)
  })
  await holds('schemas with and without patterns', property, 3000)
  assert.ok(compared > 100, String(compared))
})
