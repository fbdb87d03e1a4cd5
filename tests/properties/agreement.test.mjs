// Properties of text classes, consensus and early stop over generated answers: docs/statistics.md §2.3,
// §2.6, §2.10.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { distance, summarizeReplicates } from 'turnlock/evidence'
import { holds } from './hold.mjs'

const word = fc.stringMatching(/^[a-z]{2,8}$/)
const words = fc.uniqueArray(word, { minLength: 1, maxLength: 8 })
const whole = fc.integer({ min: 1, max: 999_999 }).map(String)
const apart = (a, b) => distance({ v: a }, { v: b })

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

test('text classes: ignore case, quotes, bullets, emphasis and punctuation', () =>
  holds(
    'spellings',
    fc.property(words, fc.constantFrom(...SPELLINGS), (all, spell) => {
      assert.equal(apart(all.join(' '), spell(all.join(' '))), 0)
    }),
    300,
  ))

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

test('text classes: distinguish signs, units, comparisons and brackets', () =>
  holds(
    'changes',
    fc.property(whole, fc.nat(), fc.nat(), fc.boolean(), (n, one, other, spoken) => {
      const changes = [(same) => same, ...CHANGES]
      const [a, b] = [changes[one % changes.length](n), changes[other % changes.length](n)]
      const said = (text) => (spoken ? `It is ${text}` : text)
      const same = a === b
      assert.equal(apart(said(a), said(b)) === 0, same)
      const got = summarizeReplicates([a, b].map((text) => ({ data: { v: said(text) } })))
      assert.equal(got.early_stop, same)
      assert.equal('/v' in got.consensus, same)
    }),
    300,
  ))

test('word order: has a small distance of its own', () =>
  holds(
    'orders',
    fc.property(words, fc.nat(), (all, by) => {
      const at = all.length > 1 ? 1 + (by % (all.length - 1)) : 0
      const rotated = [...all.slice(at), ...all.slice(0, at)]
      const wanted = at ? 1 / (4 * (all.length + 1)) : 0
      assert.ok(Math.abs(apart(all.join(' '), rotated.join(' ')) - wanted) < 1e-12)
      // Less than half of any distance to other words.
      const more = apart(all.join(' '), [...all, '7'].join(' '))
      assert.ok(wanted < more / 2)
    }),
    300,
  ))

const label = fc.constantFrom('approve', 'reject', 'escalate')
const answer = fc.record(
  {
    label,
    year: fc.constantFrom(1998, 1999, 2012),
    share: fc.constantFrom(0.5, 0.51, 0.9),
    note: fc.constantFrom('no', 'not so', 'so not', 'No.'),
    tags: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
  },
  { requiredKeys: ['label'] },
)

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

test('consensus and early stop: follow the definitions in any order of answers', () =>
  holds(
    'consensus',
    fc.property(fc.array(answer, { minLength: 2, maxLength: 5 }), fc.nat(), (all, by) => {
      const of = (list) =>
        summarizeReplicates(
          list.map((data) => ({ data })),
          { epsilon: 1 },
        )
      const got = of(all)
      for (const [field, value] of Object.entries(got.consensus)) {
        const name = field.slice(1)
        assert.ok(
          all.some((data) => JSON.stringify(data[name]) === JSON.stringify(value)),
          field,
        )
      }
      const names = [...new Set(all.flatMap(Object.keys))]
      assert.equal(
        got.early_stop,
        names.every((name) => isSettled(name, all)),
      )
      for (const name of names) {
        const classes = new Set(all.map((data) => classOf(name, data)))
        const entry = got.disagreements.find((one) => one.field === `/${name}` && !one.kind)
        assert.equal(entry !== undefined, classes.size > 1, name)
      }
      const at = by % all.length
      const rotated = of([...all.slice(at), ...all.slice(0, at)])
      assert.ok(Math.abs(rotated.confidence - got.confidence) < 1e-12)
      assert.equal(rotated.early_stop, got.early_stop)
      assert.deepEqual(Object.keys(rotated.consensus), Object.keys(got.consensus))
      const entries = ({ disagreements }) =>
        disagreements.map(({ field, kind }) => `${field} ${kind}`).sort()
      assert.deepEqual(entries(rotated), entries(got))
    }),
    300,
  ))
