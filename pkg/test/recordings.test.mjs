// Recordings of agents and tracing tools, rebuilt from public reports (pkg/test/recordings).
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import test from 'node:test'
import { detectProvider, findLoops, inspectText, recognizeFormat } from 'turnlock/inspect'

const folder = new URL('recordings/', import.meta.url)
const cases = readdirSync(folder).map((name) => [
  name.replace('.json', ''),
  JSON.parse(readFileSync(new URL(name, folder), 'utf8')),
])
const textOf = ({ lines, value }) =>
  lines ? lines.map((line) => JSON.stringify(line)).join('\n') : JSON.stringify(value)

/** Codes that follow from the form of a history, if that is another provider's. */
const OF_SHAPE = ['CONTENT_SHAPE', 'REASONING_FOREIGN', 'TOOL_RESULT_TYPE']

/** Codes without those that say that the history is written in another provider's form. */
const codesOf = (violations) => {
  const codes = violations.map(({ code }) => code)
  return codes.includes('CONTENT_SHAPE') ? codes.filter((code) => !OF_SHAPE.includes(code)) : codes
}

for (const [name, given] of cases) {
  test(`${name}: ${given.about}`, () => {
    const { expect } = given
    const text = textOf(given)
    if (expect.error) {
      const { format, error, violations, result } = inspectText(text, { dialect: 'anthropic' })
      assert.deepEqual([format, error.code], ['unknown format', expect.error])
      assert.deepEqual([violations, result], [undefined, undefined])
      return
    }
    const recognized = recognizeFormat(text)
    const { format, history } = recognized
    const dialect = detectProvider(text, recognized)
    assert.deepEqual([format, dialect ?? null], [expect.format, expect.dialect ?? null])
    const report = inspectText(text, { dialect: dialect ?? 'openai-chat' })
    assert.equal(report.error, undefined)
    assert.deepEqual([...new Set(codesOf(report.violations))], expect.violations)
    assert.deepEqual(report.remaining, [])
    const loops = findLoops(report.trace).map(({ name, places }) => [name, places.length])
    assert.deepEqual(Object.fromEntries(loops), expect.loops)
    const { calls } = report.trace
    if (expect.calls) {
      assert.deepEqual(
        calls.map(({ name }) => name),
        expect.calls,
      )
    }
    if (expect.results !== undefined) {
      assert.equal(calls.filter(({ result }) => result !== undefined).length, expect.results)
    }
    if (expect.refused) assert.deepEqual(report.refused, expect.refused)
    if (expect.messages !== undefined) assert.equal(history.length, expect.messages)
    if (expect.history) assert.deepEqual(history, expect.history)
  })
}

test('a session of a framework: at least one provider refuses no more than its form', () => {
  for (const [name, given] of cases) {
    if (given.expect.error || given.expect.dialect || given.expect.violations.length) continue
    const dialects = ['openai-chat', 'anthropic', 'gemini']
    const codes = dialects.map((dialect) =>
      codesOf(inspectText(textOf(given), { dialect }).violations),
    )
    assert.ok(
      codes.some(({ length }) => length === 0),
      `${name}: ${codes.join(' ')}`,
    )
  }
})

test('a session whose last line is cut off is read up to it', () => {
  const [, codex] = cases.find(([name]) => name === 'codex-compacted')
  const text = textOf(codex)
  const cut = recognizeFormat(text.slice(0, -20))
  assert.equal(cut.format, 'Codex session (the last line is cut off)')
  assert.equal(cut.history.length, recognizeFormat(text).history.length - 1)
})

test('a broken line of JSON lines: the error names the line', () => {
  const text = '{"role":"user","content":"a"}\n{"role":"user" "content"}\n{"role":"user"}'
  const details = { offset: 45, line: 2, column: 16 }
  assert.throws(() => recognizeFormat(text), { code: 'json.syntax', details })
})

test('a session without messages: the error says so', () => {
  const meta = { timestamp: '2026-08-01T10:00:00Z', type: 'session_meta', payload: { id: 'x' } }
  assert.throws(() => recognizeFormat(JSON.stringify(meta)), {
    code: 'options.invalid',
    message: /no message in it: Codex session/,
  })
})

test('a list of which half is unknown is diagnosed, one of which more is unknown is not', () => {
  const known = { role: 'user', content: 'hi' }
  const unknown = { type: 'telemetry', level: 'info' }
  const half = inspectText(JSON.stringify([known, unknown]), { dialect: 'openai-chat' })
  assert.deepEqual([half.error, codesOf(half.violations)], [undefined, ['ELEMENT_UNKNOWN']])
  const most = inspectText(JSON.stringify([known, unknown, unknown]), { dialect: 'openai-chat' })
  assert.deepEqual(most.error.details, { unknown: 2, elements: 3 })
  assert.match(most.error.message, /^unknown format: 2 of 3 elements/)
})
