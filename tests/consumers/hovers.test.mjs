// What an editor shows: types as one would write them, and a sentence on each name.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import ts from 'typescript'
import { root } from '../../scripts/setup.mjs'

const FILE = join(root, 'tests/consumers/hovered.ts')
// A `/*name*/` stands before what is hovered.
const SAMPLE = `
import { defineTool, openaiChat, runTurn } from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import type { Tool } from 'turnlock'
import { remoteTurns } from 'turnlock/remote'

declare const model: ReturnType<typeof openaiChat>
const inputSchema = { type: 'object', properties: { path: { type: 'string' }, deep: { type: 'boolean' } }, required: ['path'] } as const
const /*tool*/list_files = defineTool({ description: 'd', inputSchema, execute: (/*args*/args) => [args.path] })
const read_file: Tool<Promise<string>> = list_files as never
const answerSchema = { type: 'object', properties: { sure: { enum: ['yes', 'no'] } }, required: ['sure'] } as const
const /*plain*/plain = runTurn({ model, messages: [] })
const /*turn*/turn = runTurn({ model, messages: [], answerSchema, tools: { list_files, read_file }, /*policy*/policy: { /*maxTools*/maxTools: 2 } })
for await (const /*event*/event of turn) {
  if (event.type === 'text') /*text*/event
  if (event.type === 'tool_results') event./*toolResults*/toolResults
}
const /*end*/end = await turn.result
if (end.status === 'complete') end./*object*/object
if (end.status === 'failed') end./*error*/error
for (const /*result*/result of end.toolResults) {
  if (result.status === 'ok' && !result.truncated && result.name === 'read_file') result./*returned*/result
}
const /*remote*/remote = remoteTurns({ url: '/api/chat' }).run({ messages: [] })
const /*bundle*/bundle = await runBundle({ task: 't', replicate: () => ({ data: {} }) }).result
`
const COMPILER = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  types: [],
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.asynciterable.d.ts'],
}

/** A service over the sample and what it imports. */
function editor() {
  const { sys, ScriptSnapshot } = ts
  const read = (path) => (path === FILE ? SAMPLE : sys.readFile(path))
  return ts.createLanguageService({
    ...sys,
    useCaseSensitiveFileNames: () => sys.useCaseSensitiveFileNames,
    getCompilationSettings: () => COMPILER,
    getScriptFileNames: () => [FILE],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const text = read(path)
      return text === undefined ? undefined : ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => path === FILE || sys.fileExists(path),
    readFile: read,
  })
}

const text = (parts = []) => ts.displayPartsToString(parts)

test('types are shown as one would write them', () => {
  const service = editor()
  const hover = (name) => {
    const mark = `/*${name}*/`
    const shown = service.getQuickInfoAtPosition(FILE, SAMPLE.indexOf(mark) + mark.length)
    return text(shown?.displayParts).replace(/\s+/g, ' ')
  }
  assert.deepEqual(
    service.getSemanticDiagnostics(FILE).map(({ messageText }) => messageText),
    [],
  )
  const RESULTS =
    'CutResult | FailedResult | OkResult<"list_files", string[]> | OkResult<"read_file", string>'
  for (const [name, shown] of Object.entries({
    tool: 'const list_files: Tool<string[]>',
    args: '(parameter) args: { path: string; deep?: boolean | undefined; }',
    plain: 'const plain: Turn<unknown, ToolResult>',
    turn: `const turn: Turn<{ sure: "yes" | "no"; }, ${RESULTS}>`,
    policy: '(property) RunTurnOptions.policy?: Policy | undefined',
    maxTools: '(property) Policy.maxTools?: number | undefined',
    event: 'const event: TurnEvent',
    text: 'const event: TurnEventMembers & { type: "text"; chunk: string; }',
    toolResults: '(property) toolResults: ToolResult[]',
    end: `const end: TurnEnd<{ sure: "yes" | "no"; }, ${RESULTS}>`,
    object: '(property) object: { sure: "yes" | "no"; }',
    error: '(property) error: TurnFailure',
    result: `const result: ${RESULTS}`,
    returned: '(property) OkResult<"read_file", string>.result: string',
    remote: 'const remote: RemoteTurn',
    bundle: 'const bundle: EvidenceBundle',
  })) {
    assert.equal(hover(name), shown, name)
  }
})

test('each name that the package exports, and each option, has a sentence; docs/api.md has each value', () => {
  const { exports } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
  const entries = Object.values(exports).flatMap(({ types }) => types ?? [])
  const files = [...new Set(entries)].map((path) => join(root, 'pkg', path))
  const program = ts.createProgram(files, COMPILER)
  const checker = program.getTypeChecker()
  const without = new Set()
  const look = (symbol, name) => {
    if (!text(symbol.getDocumentationComment(checker)).trim()) without.add(name)
  }
  const guide = readFileSync(join(root, 'docs/api.md'), 'utf8')
  const unlisted = new Set()
  let seen = 0
  for (const file of files) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file))
    if (!module) continue
    for (const exported of checker.getExportsOfModule(module)) {
      const { flags } = exported
      const symbol = flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
      const { name } = exported
      look(symbol, name)
      seen++
      // The file of the core is what its bundler makes of it.
      const isValue = symbol.flags & ts.SymbolFlags.Value && name !== 'default'
      if (isValue && !new RegExp(`\\\`${name}\\b`).test(guide)) unlisted.add(name)
      if (!/(Options|Policy|Limits)$/.test(name)) continue
      for (const member of checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))) {
        look(member, `${name}.${member.name}`)
        seen++
      }
    }
  }
  assert.ok(seen > 300, `${seen}`)
  assert.deepEqual([...without].sort(), [])
  assert.deepEqual([...unlisted].sort(), [], 'docs/api.md')
})
