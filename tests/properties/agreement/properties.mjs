// Properties of text classes, consensus and early stop over generated answers: docs/statistics.md §2.3,
// §2.6, §2.10. No `node:` import: they run in any JavaScript runtime.
import fc from 'fast-check'

function assert(fact, message) {
  if (!fact) throw new Error(message)
}

function assertEqual(actual, expected, what) {
  const [got, wanted] = [actual, expected].map((value) => JSON.stringify(value))
  assert(got === wanted, `${what}: expected ${wanted}, got ${got}`)
}

const word = fc.stringMatching(/^[a-z]{2,8}$/)
const words = fc.uniqueArray(word, { minLength: 1, maxLength: 8 })
const integer = fc.integer({ min: 1, max: 999_999 }).map(String)

/** Spellings of the same answer. */
const SPELLINGS = [
  (text) => `"${text}"`,
  (text) => `${text}.`,
  (text) => `- ${text}`,
  (text) => `* ${text}\n`,
  (text) => `**${text}**`,
  (text) => text.toUpperCase(),
  (text) => text.replaceAll(' ', '_'),
  (text) => text.replaceAll(' ', ', '),
  (text) => text.replaceAll(/[a-z]/g, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
]

/** Changes that make a different answer. */
const CHANGES = [
  (n) => `-${n}`,
  (n) => `${n}%`,
  (n) => `$${n}`,
  (n) => `> ${n}`,
  (n) => `<= ${n}`,
  (n) => `${n}+`,
  (n) => `${n}°`,
  (n) => `${n}/2`,
  (n) => `${n}²`,
  (n) => `${n}e-3`,
  (n) => `x = ${n}`,
  (n) => `x != ${n}`,
  (n) => `[${n}, 7)`,
  (n) => `(${n}, 7]`,
]

/** Values of each field of an answer. */
const VALUES = {
  label: fc.constantFrom('approve', 'reject', 'escalate'),
  year: fc.constantFrom(1998, 1999, 2012),
  share: fc.constantFrom(0.5, 0.51, 0.9),
  note: fc.constantFrom('no', 'not so', 'so not', 'No.'),
  tags: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
}
const anyAnswer = fc.record(VALUES, { requiredKeys: ['label'] })

/** Class of a field's value, by the definitions. */
const CLASSES = {
  note: (text) => text.toLowerCase().replace('.', ''),
  tags: (list) => [...list].sort().join(),
}
const classOf = (name, data) => (name in data ? (CLASSES[name] ?? String)(data[name]) : '(missing)')

/** Whether a field is settled. */
function isSettled(name, all) {
  const most = (keys) =>
    Math.max(...keys.map((key) => keys.filter((other) => other === key).length))
  const has = (keys) => most(keys) >= 2 && 2 * most(keys) > keys.length
  if (has(all.map((data) => classOf(name, data)))) {
    return name !== 'tags' || has(all.map((data) => ('tags' in data ? data.tags.join() : '-')))
  }
  const numbers = all.map((data) => data[name])
  return name === 'share' && numbers.every((n) => n === 0.5 || n === 0.51)
}

/** Answers, and the same ones in another order. */
const inTwoOrders = fc
  .array(anyAnswer, { minLength: 2, maxLength: 5 })
  .chain((answers) =>
    fc.tuple(
      fc.constant(answers),
      fc.shuffledSubarray(answers, { minLength: answers.length, maxLength: answers.length }),
    ),
  )

/** The properties by name, each of the functions of `turnlock/evidence` that it is given. */
export const PROPERTIES = {
  'text classes: ignore case, quotes, bullets, emphasis and punctuation': ({ distance }) =>
    fc.property(words, fc.constantFrom(...SPELLINGS), (all, spell) => {
      const text = all.join(' ')
      assertEqual(distance({ v: text }, { v: spell(text) }), 0, 'distance')
    }),

  'text classes: distinguish signs, units, comparisons and brackets': (evidence) =>
    fc.property(integer, fc.nat(), fc.nat(), fc.boolean(), (n, one, other, inSentence) => {
      const changes = [(same) => same, ...CHANGES]
      const spellings = [one, other].map((at) => changes[at % changes.length](n))
      const same = spellings[0] === spellings[1]
      const [a, b] = spellings.map((text) => ({ v: inSentence ? `It is ${text}` : text }))
      assertEqual(evidence.distance(a, b) === 0, same, 'distance 0')
      const summary = evidence.summarizeReplicates([a, b].map((data) => ({ data })))
      assertEqual(summary.early_stop, same, 'early_stop')
      assertEqual('/v' in summary.consensus, same, 'consensus')
    }),

  'word order: has a distance smaller than half of any distance to other words': ({ distance }) =>
    fc.property(words, fc.nat(), (all, by) => {
      const at = all.length > 1 ? 1 + (by % (all.length - 1)) : 0
      const [text, rotated, longer] = [
        all,
        [...all.slice(at), ...all.slice(0, at)],
        [...all, '7'],
      ].map((tokens) => ({ v: tokens.join(' ') }))
      const wanted = at ? 1 / (4 * (all.length + 1)) : 0
      const got = distance(text, rotated)
      assert(Math.abs(got - wanted) < 1e-12, `distance: expected ${wanted}, got ${got}`)
      assert(wanted < distance(text, longer) / 2, 'distance to other words')
    }),

  'distance: is 0 exactly for answers of one class': ({ distance }) =>
    fc.property(
      anyAnswer,
      anyAnswer,
      fc.constantFrom(...Object.keys(VALUES)),
      (a, other, changed) => {
        const b = { ...a, [changed]: other[changed] }
        if (!(changed in other)) delete b[changed]
        const isSame = namesOf([a, b]).every((name) => classOf(name, a) === classOf(name, b))
        assertEqual(distance(a, b) === 0, isSame, 'distance 0')
      },
    ),

  'consensus: is a value that a replicate gave': (evidence) =>
    fc.property(fc.array(anyAnswer, { minLength: 2, maxLength: 5 }), (answers) => {
      for (const [field, value] of Object.entries(summarize(evidence, answers).consensus)) {
        const given = answers.map((data) => JSON.stringify(data[field.slice(1)]))
        assert(given.includes(JSON.stringify(value)), `${field}: no replicate gave ${value}`)
      }
    }),

  'early stop: needs every counted field settled': (evidence) =>
    fc.property(fc.array(anyAnswer, { minLength: 2, maxLength: 5 }), (answers) => {
      const open = namesOf(answers).filter((name) => !isSettled(name, answers))
      const { early_stop: stops } = summarize(evidence, answers)
      assertEqual(stops, open.length === 0, `early_stop with ${open.length} open (${open})`)
    }),

  'disagreements: name each field with more than one class': (evidence) =>
    fc.property(fc.array(anyAnswer, { minLength: 2, maxLength: 5 }), (answers) => {
      const wanted = namesOf(answers).filter(
        (name) => new Set(answers.map((data) => classOf(name, data))).size > 1,
      )
      const got = summarize(evidence, answers)
        .disagreements.filter(({ kind }) => !kind)
        .map(({ field }) => field.slice(1))
      assertEqual(got.sort(), wanted.sort(), 'fields')
    }),

  'permutation of replicates: changes nothing but order': (evidence) =>
    fc.property(inTwoOrders, (orders) => {
      const [{ confidence, ...a }, { confidence: permuted, ...b }] = orders.map((answers) => {
        const { confidence, consensus, ...summary } = summarize(evidence, answers)
        const classes = Object.entries(consensus).map(([field, value]) => {
          const name = field.slice(1)
          return `${field}: ${classOf(name, { [name]: value })}`
        })
        const entries = summary.disagreements.map(({ field, kind }) => `${field} ${kind}`)
        return {
          confidence,
          consensus: classes.sort(),
          disagreements: entries.sort(),
          early_stop: summary.early_stop,
          valid_count: summary.valid_count,
        }
      })
      // Sums of floating-point numbers depend on their order.
      assert(Math.abs(confidence - permuted) < 1e-12, `confidence: ${confidence}, ${permuted}`)
      for (const name of Object.keys(a)) assertEqual(b[name], a[name], name)
    }),
}

const namesOf = (answers) => [...new Set(answers.flatMap(Object.keys))]

/** With this `epsilon`, only fields that are not settled prevent an early stop. */
const summarize = ({ summarizeReplicates }, answers) =>
  summarizeReplicates(
    answers.map((data) => ({ data })),
    { epsilon: 1 },
  )
