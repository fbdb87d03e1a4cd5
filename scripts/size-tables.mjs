// The tables of README.md and BENCHMARKS.md that say what pages and entries weigh, from what
// `scripts/size.mjs` has measured. A number that is off by more than compilers differ is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

/** Rows by the title of their page in `size.mjs`; `first` and `run` are in KB. */
const README = (of) => {
  const own = (title) => of(title).run
  const both = (title) => [of(title).first, of(title).run]
  return [
    [
      '`runTurn`, `openaiChat`, `defineTool`; a plain history, no store',
      ...both('runTurn, openaiChat, defineTool'),
    ],
    [
      'the same with another client, another history, or a store',
      ...both('runTurn, anthropic, defineTool'),
    ],
    ['`normalize`, `diagnose`, `fit`', ...both('normalize, diagnose')],
    ['`runBundle`', ...both('runBundle')],
    ['`runWithToolRequests`', ...both('runWithToolRequests')],
    ['`runChain`', ...both('runChain')],
    ['`createRedactor` of `turnlock/redact`', ...both('createRedactor')],
    ['`createHandler` of `turnlock/server`', of('createHandler').first, 'each its own part'],
    ['`createProxy` of `turnlock/proxy`', ...both('createProxy')],
    ['`remoteTurns` of `turnlock/remote`, without wasm', ...both('remoteTurns')],
    ['`signature`, `canonicalize`', ...both('signature, canonicalize')],
    ['`decodeStream`', ...both('decodeStream')],
    ['every asynchronous operation', of('every asynchronous operation').first, 'each its own part'],
    [
      'everything that the package exports',
      of('everything').first,
      [own('everything'), ' with a turn'],
    ],
  ]
}

const PAGES = (of) => {
  const row = (title, name, before, aim) => [name, of(title).first, of(title).run, [before], [aim]]
  return [
    row(
      'runTurn, openaiChat, defineTool',
      '`runTurn`, `openaiChat`, `defineTool`',
      '416',
      '20 / 120',
    ),
    row('runTurn, anthropic, defineTool', '`runTurn`, `anthropic`, `defineTool`', '416', ''),
    row('normalize, diagnose', '`normalize`, `diagnose`', '408', '110'),
    row('runBundle', '`runBundle`', '416', '15 / 130'),
    row('signature, canonicalize', '`signature`, `canonicalize`', '408', '35'),
    row('decodeStream', '`decodeStream`', '408', '60'),
    row('remoteTurns', '`remoteTurns` of `turnlock/remote`', '', '4'),
    [
      'every asynchronous operation',
      of('every asynchronous operation').first,
      'each its own part',
      ['430'],
      ['35'],
    ],
    [
      'everything, synchronous operations too',
      of('everything').first,
      [of('everything').run, ' with a turn'],
      ['430'],
      ['430'],
    ],
  ]
}

const ENTRIES = (of) => {
  const run = (title) => of(title).run
  return [
    ['`turnlock/remote`', run('remoteTurns')],
    ['`turnlock/chat`', run('createChat')],
    ['`turnlock/react`', run('useTurn')],
    ['`turnlock/redact`', run('createRedactor')],
    ['`turnlock/server`: `createHandler`, when it starts', of('createHandler').first],
    ['`turnlock/proxy`', run('createProxy')],
    ['`turnlock/ai-sdk`: `toUIMessageResponse`', run('toUIMessageResponse')],
    [
      '`turnlock/ai-sdk`, with `turnlockMiddleware`',
      run('toUIMessageResponse, turnlockMiddleware'),
    ],
    ['`turnlock/ag-ui`', run('toAgUiEvents')],
    ['`turnlock/mcp`', run('mcpTools')],
    ['`turnlock/otel`', run('openTelemetry')],
    ['`turnlock/tools`', run('diagnoseTools')],
    ['`turnlock/stores/indexeddb`', run('indexedDbStore')],
    ['`turnlock/stores/durable-object`', run('durableObjectStore')],
    ['`turnlock/stores/redis`', run('redisStore')],
    ['`turnlock/stores/postgres`', run('postgresStore')],
    ['`turnlock/stores/d1`', run('d1Store')],
    ['`turnlock/testing`', run('storeConformance, scriptedModel, tapeFetch, fakeClock')],
  ]
}

/** A list is a cell of fixed and measured pieces; a number is one of KB. */
const cell = (digits) => (value) =>
  Array.isArray(value)
    ? value.map((piece) => (typeof piece === 'number' ? piece.toFixed(digits) : piece)).join('')
    : typeof value === 'number'
      ? value.toFixed(digits)
      : value

const render = (rows, digits) =>
  rows.map((row) => `| ${row.map(cell(digits)).join(' | ')} |`.replaceAll('|  |', '| |')).join('\n')

const TABLES = [
  ['README.md', 'sizes', README, 0],
  ['BENCHMARKS.md', 'sizes', PAGES, 1],
  ['BENCHMARKS.md', 'entries', ENTRIES, 1],
]

/** KB by which a number may be off: compilers differ. */
const NEAR = 1.6
const numbers = (text) => text.split('\n').map((line) => line.match(/(?<=\| )\d+(\.\d+)?/g) ?? [])
const near = (a, b) => a.length === b.length && a.every((one, at) => Math.abs(one - b[at]) <= NEAR)

/**
 * Writes the tables, or names those that are stale.
 *
 * @param measured KB of each page: `{ first, run }` by its title
 */
export function sizeTables(measured, { write }) {
  const stale = []
  const of = (title) => measured[title]
  for (const [file, mark, rows, digits] of TABLES) {
    const path = join(root, file)
    const before = readFileSync(path, 'utf8')
    const place = new RegExp(`(<!-- ${mark} -->\\n(?:.*\\n){3})([^]*?)(\\n\\n<!-- /${mark} -->)`)
    const [, , table] = place.exec(before) ?? []
    if (table === undefined) throw new Error(`${file} has no place for the table «${mark}»`)
    const fresh = render(rows(of), digits)
    if (write) {
      writeFileSync(
        path,
        before.replace(place, (_, start, old, end) => start + fresh + end),
      )
    } else {
      const [is, should] = [numbers(table), numbers(fresh)]
      const same = is.length === should.length && is.every((row, at) => near(row, should[at]))
      if (!same) stale.push(`${file}: «${mark}»`)
    }
  }
  return stale
}
