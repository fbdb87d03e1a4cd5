// What providers refuse in the declarations of tools (tests/core/tools.rs has each limit).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defineTool, TurnlockError, diagnoseTools } from 'turnlock'

const inputSchema = {
  type: 'object',
  properties: { path: { type: 'string', pattern: '^/' } },
  required: ['path'],
}
const tools = {
  list_files: defineTool({ description: 'Lists.', inputSchema, execute: () => [] }),
}

test('the tools of a turn, by name', () => {
  assert.deepEqual(diagnoseTools(tools, { dialect: 'openai-chat' }), [])
  const [found, ...more] = diagnoseTools(tools, { dialect: 'gemini' })
  assert.deepEqual(more, [])
  assert.equal(found.code, 'TOOL_SCHEMA_KEYWORD')
  assert.equal(found.path, '/list_files/inputSchema/properties/path/pattern')
  assert.match(found.source, /https:.*\(2026-/)
  const strict = diagnoseTools(tools, { dialect: 'openai-chat', strict: true })
  assert.deepEqual(
    strict.map(({ code, path }) => `${code} ${path}`),
    ['TOOL_STRICT_ADDITIONAL /list_files/inputSchema'],
  )
})

test('a list of declarations', () => {
  const list = [
    { name: 'a b', inputSchema: {} },
    { name: 'ok', inputSchema: { type: 'object' } },
  ]
  assert.deepEqual(
    diagnoseTools(list, { dialect: 'anthropic' }).map(({ code, path }) => `${code} ${path}`),
    ['TOOL_NAME_FORMAT /0/name', 'TOOL_SCHEMA_ROOT /0/inputSchema'],
  )
})

test('what is no tool, and no dialect', () => {
  const code = (code) => (error) => error instanceof TurnlockError && error.code === code
  assert.throws(() => diagnoseTools(null, { dialect: 'gemini' }), code('options.invalid'))
  assert.throws(
    () => diagnoseTools([{ name: 'a' }], { dialect: 'gemini' }),
    code('options.invalid'),
  )
  assert.throws(() => diagnoseTools(tools, { dialect: 'esperanto' }), code('dialect.unknown'))
})
