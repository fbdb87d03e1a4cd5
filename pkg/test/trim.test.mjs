// Histories that are trimmed, through the built package: the table of the native tests, and what a
// host's values are.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import fc from 'fast-check'
import { trimHistory, normalizeHistory } from 'turnlock'
import { DIALECTS, histories } from './histories.mjs'

const CASES = new URL('../../tests/histories/trim.json', import.meta.url)

for (const given of JSON.parse(readFileSync(CASES, 'utf8'))) {
  test(`fit: ${given.name}`, () => {
    const { dialect, maxBytes, maxTokens } = given
    const fitted = trimHistory(given.history, {
      dialect,
      maxBytes,
      maxTokens,
      keep: (element, index) => {
        assert.equal(element, given.history[index])
        return given.keep?.includes(index) ?? false
      },
      ...(given.words && { countTokens: (text) => text.split(' ').length }),
    })
    assert.deepEqual(fitted.dropped, given.dropped)
    assert.equal(fitted.tokens, given.tokens)
    const gone = (at) => given.dropped.some(({ from, to }) => from <= at && at < to)
    // The elements themselves, not copies.
    const rest = given.history.filter((_, at) => !gone(at))
    assert.equal(fitted.history.length, rest.length)
    rest.forEach((element, at) => assert.equal(fitted.history[at], element))
  })
}

test('what is left of a history is a part of it that fits, or all that must stay', () =>
  fc.assert(
    fc.property(
      histories,
      fc.constantFrom(...DIALECTS),
      fc.constantFrom(1, 200, 800),
      ({ elements }, dialect, maxBytes) => {
        const { history, dropped } = trimHistory(elements, { dialect, maxBytes })
        let at = 0
        for (const { from, to } of dropped) {
          assert.ok(at <= from && from < to && to <= elements.length)
          at = to
        }
        const gone = dropped.reduce((sum, { from, to }) => sum + to - from, 0)
        assert.equal(history.length, elements.length - gone)
        const { messages, system } = normalizeHistory(history, { dialect })
        const parts = system === undefined ? messages : [...messages, system]
        const bytes = parts.map((one) => new TextEncoder().encode(JSON.stringify(one)).length)
        const size = bytes.reduce((sum, one) => sum + one, messages.length + 1)
        if (size > maxBytes)
          assert.deepEqual(trimHistory(history, { dialect, maxBytes: 1 }).dropped, [])
        const count = (all) => normalizeHistory(all, { dialect }).repairs.length
        if (!elements.some(({ role }) => role === 'system' || role === 'developer')) {
          assert.ok(count(history) <= count(elements) || dropped.length === 0)
        }
      },
    ),
  ))

test('misuse is named', () => {
  const said = [{ role: 'user', content: 'u' }]
  const refused = (history, options, code, message) =>
    assert.throws(
      () => trimHistory(history, options),
      (error) => error.code === code && message.test(error.message),
    )
  const dialect = 'openai-chat'
  refused(said, { dialect, maxByte: 1 }, 'options.invalid', /maxByte/)
  refused(said, { dialect, maxBytes: 0 }, 'options.invalid', /maxBytes/)
  refused(said, { dialect, maxTokens: 1.5 }, 'options.invalid', /maxTokens/)
  refused(said, { dialect: 'x' }, 'dialect.unknown', /x/)
  refused('u', { dialect }, 'options.invalid', /history/)
  refused([{ role: 'nobody' }], { dialect }, 'message.unknown_shape', /0/)
  const countTokens = () => 'many'
  refused(said, { dialect, countTokens }, 'options.invalid', /countTokens/)
})
