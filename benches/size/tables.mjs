// The tables of README.md and BENCHMARKS.md that say what pages and entries weigh, from what
// `benches/size/size.mjs` has measured. A number that is off by more than compilers differ is stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/setup.mjs'

/** Pages of `size.mjs` by the import of their row in the README, or by what stands for it. */
const CAPABILITIES = {
  '`runTurn`, `openaiChat`': 'runTurn, openaiChat, defineTool',
  '`runTurn`, `anthropic`': 'runTurn, anthropic, defineTool',
  '`resumeTurn`, a store': 'resumeTurn, openaiChat, defineTool, memoryStore',
  '`normalizeHistory`, `diagnoseHistory`, `trimHistory`': 'normalizeHistory, diagnoseHistory',
  '`turnlock/evidence`: `runBundle`': 'runBundle',
  '`turnlock/planning`: `runPlanning`': 'runPlanning',
  '`turnlock/chain`: `runChain`': 'runChain',
  '`turnlock/server`': 'createHandler',
  '`turnlock/remote`': 'remoteTurns',
  '`turnlock/react`': 'useTurn',
  '`turnlock/guard`': 'createCallGuard',
  '`turnlock/guard`: `guardTools`': 'guardTools',
  '`turnlock/guard`: `guardFetch`': 'guardFetch',
  '`turnlock/proxy`': 'createProxy',
  '`turnlock/redact`': 'createRedactor',
  '`signature`': 'signature, canonicalize',
  '`decodeStream`': 'decodeStream',
  '`turnlock/ai-sdk`, …': 'toUIMessageResponse, turnlockMiddleware',
  'every asynchronous operation': 'every asynchronous operation',
  'everything that `turnlock` exports': 'everything',
}

/** What loads a part for each thing that it runs. */
const EACH_ITS_OWN = ['createHandler', 'every asynchronous operation']

/** The table of the README, whose words stand there, with its numbers. */
const README = (of, table) => {
  const unused = new Set(Object.keys(CAPABILITIES))
  const fresh = table.split('\n').map((line) => {
    const cells = line.split('|').map((text) => text.trim())
    const key = [cells[2], cells[1]].find((text) => unused.delete(text))
    if (!key) return line
    const { first, run } = of(CAPABILITIES[key])
    const [start, whole] = [first, run].map((weight) => weight.toFixed(0))
    const isWhole = start === whole && !EACH_ITS_OWN.includes(CAPABILITIES[key])
    cells[3] = isWhole ? start : `${start} / ${start === whole ? 'each its part' : whole}`
    return cells.join(' | ').trim()
  })
  if (unused.size) throw new Error(`README.md: no row has ${[...unused].join(' or ')}`)
  return fresh.join('\n').replaceAll('|  |', '| |')
}

/** Rows by the title of their page in `size.mjs`; `first` and `run` are in KB. */
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
    row('normalizeHistory, diagnoseHistory', '`normalizeHistory`, `diagnoseHistory`', '408', '110'),
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
    ['`diagnoseTools`', run('diagnoseTools')],
    ['`turnlock/stores/indexeddb`', run('indexedDbStore')],
    ['`turnlock/stores/durable-object`', run('durableObjectStore')],
    ['`turnlock/stores/redis`', run('redisStore')],
    ['`turnlock/stores/postgres`', run('postgresStore')],
    ['`turnlock/stores/d1`', run('d1Store')],
    ['`turnlock/testing`', run('storeConformance, scriptedModel, tapeFetch, fakeClock')],
  ]
}

/** A list is a cell of fixed and measured pieces; a number is one of KB. */
const cell = (value) =>
  Array.isArray(value)
    ? value.map((piece) => (typeof piece === 'number' ? piece.toFixed(1) : piece)).join('')
    : typeof value === 'number'
      ? value.toFixed(1)
      : value

const render = (rows) => (of) =>
  rows(of)
    .map((row) => `| ${row.map(cell).join(' | ')} |`.replaceAll('|  |', '| |'))
    .join('\n')

const TABLES = [
  ['README.md', 'sizes', README],
  ['BENCHMARKS.md', 'sizes', render(PAGES)],
  ['BENCHMARKS.md', 'entries', render(ENTRIES)],
]

/** KB by which a number may be off: compilers differ. */
const NEAR = 1.6
const numbers = (text) => text.split('\n').map((line) => line.match(/(?<=[|/] )\d+(\.\d+)?/g) ?? [])
const near = (a, b) => a.length === b.length && a.every((one, at) => Math.abs(one - b[at]) <= NEAR)

/**
 * Writes the tables, or names those that are stale.
 *
 * @param measured KB of each page: `{ first, run }` by its title
 */
export function sizeTables(measured, { write }) {
  const stale = []
  const of = (title) => measured[title]
  for (const [file, mark, tableOf] of TABLES) {
    const path = join(root, file)
    const before = readFileSync(path, 'utf8')
    const place = new RegExp(`(<!-- ${mark} -->\\n(?:.*\\n){3})([^]*?)(\\n\\n<!-- /${mark} -->)`)
    const [, , table] = place.exec(before) ?? []
    if (table === undefined) throw new Error(`${file} has no place for the table «${mark}»`)
    const fresh = tableOf(of, table)
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
