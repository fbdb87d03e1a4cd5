// Measures the loops: how often a tool runs, and how often the model is called.
import { guardFetch, guardTools } from 'turnlock/guard'
import { turnlockMiddleware } from 'turnlock/ai-sdk'
import { LOOPS, STEPS } from './loops.mjs'
import { createProvider } from './server.mjs'

/** What guards a loop: its tools, its client, or its model. */
const GUARDS = {
  none: {},
  guardTools: { wrap: (tools) => guardTools(tools) },
  guardFetch: { fetch: guardFetch() },
  middleware: { middleware: turnlockMiddleware() },
}

/** Whether a loop has what a guard guards. */
const takes = (loop, guard) =>
  guard === 'guardTools' ? loop.tools !== false : guard !== 'middleware' || loop.middleware === true

/**
 * Plays one loop: the runs of its tool, the model calls of its client, the requests that the provider
 * got, and the results that the model read.
 */
export async function playLoop(provider, { loop }, guard) {
  const session = crypto.randomUUID()
  const { wrap = (tools) => tools, fetch: send = fetch, middleware } = GUARDS[guard]
  let [runs, calls] = [0, 0]
  const results = await loop({
    base: `${provider.url}/s/${session}/again:list_files`,
    fetch: (...given) => {
      calls += 1
      return send(...given)
    },
    wrap,
    middleware,
    execute: async () => {
      runs += 1
      return ['notes.txt']
    },
  })
  return { runs, calls, requests: provider.requests(session).length, results }
}

/** Every loop under every guard that it takes. */
export async function measureLoops() {
  const provider = await createProvider()
  try {
    const rows = []
    for (const loop of LOOPS) {
      const measured = {}
      for (const guard of Object.keys(GUARDS)) {
        if (takes(loop, guard)) measured[guard] = await playLoop(provider, loop, guard)
      }
      rows.push({ loop, measured })
    }
    return rows
  } finally {
    await provider.close()
  }
}

const HEAD = `| framework | package | no guard | \`guardTools\` | \`guardFetch\` | \`turnlockMiddleware\` |
|---|---|---|---|---|---|`

/** The table of the guide. */
export function loopTable(rows) {
  const cell = (measured) => (measured ? `${measured.runs} / ${measured.calls}` : '–')
  const lines = rows.map(({ loop, measured }) => {
    const { none, guardTools: tools, guardFetch: client, middleware } = measured
    const cells = [none, tools, client, middleware].map(cell)
    return `| ${[loop.name, `\`${loop.package}\` ${loop.version}`, ...cells].join(' | ')} |`
  })
  return `Runs of the tool / model calls, of at most ${STEPS}:\n\n${HEAD}\n${lines.join('\n')}\n`
}
