// Many turns at once: all are held open in the middle of their answer, then all finish. CPU time of
// a turn, as a multiple of its time among 1 000, and the memory of one that is held open: medians of
// interleaved rounds, each line of a round a process of its own. npm run bench -- turns
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { defineTool, openaiChat, runTurn } from 'turnlock'
import { median, medianRatio } from './measure.mjs'

const LINES = [1000, 2000, 5000, 10_000]
const ROUNDS = Number(process.env.ROUNDS ?? 7)
const encoder = new TextEncoder()
const say = (delta, finish_reason = null) =>
  encoder.encode(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`)

if (process.argv[2]) console.log(JSON.stringify(await hold(Number(process.argv[2]))))
else {
  const seen = Object.fromEntries(LINES.map((count) => [count, { ms: [], kilobytes: [] }]))
  for (let round = 0; round < ROUNDS; round++) {
    for (let at = 0; at < LINES.length; at++) {
      const count = LINES[(at + round) % LINES.length]
      const { ms, kilobytes } = inProcess(count)
      seen[count].ms.push(ms)
      seen[count].kilobytes.push(kilobytes)
    }
  }
  console.log('| turns | CPU ms a turn | × of 1 000 | KB a turn |\n|---|---|---|---|')
  for (const count of LINES) {
    const { ms, kilobytes } = seen[count]
    const ratio = medianRatio(ms, seen[LINES[0]].ms)
    const cells = [count, median(ms).toFixed(2), ratio.toFixed(2), median(kilobytes).toFixed(0)]
    console.log(`| ${cells.join(' | ')} |`)
  }
}

function inProcess(count) {
  const args = ['--expose-gc', fileURLToPath(import.meta.url), String(count)]
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (stderr) console.error(stderr)
  return JSON.parse(stdout)
}

/** Runs so many turns at once; CPU milliseconds and kilobytes of each. */
async function hold(count) {
  const messages = [{ role: 'user', content: 'x'.repeat(2000) }]
  const tools = { look: defineTool({ inputSchema: { type: 'object' }, execute: () => 1 }) }
  const modelUntil = (gate) =>
    openaiChat({
      baseURL: 'http://model/v1',
      model: 'm',
      fetch: async () => {
        const body = new ReadableStream({
          async start(controller) {
            controller.enqueue(say({ content: 'a' }))
            await gate
            for (let n = 0; n < 20; n++) controller.enqueue(say({ content: `b${n}` }))
            controller.enqueue(say({}, 'stop'))
            controller.close()
          },
        })
        return new Response(body)
      },
    })
  await runTurn({ model: modelUntil(), messages, tools }).result
  let open
  const model = modelUntil(new Promise((resolve) => (open = resolve)))
  globalThis.gc()
  const [memory, cpu] = [process.memoryUsage().rss, process.cpuUsage()]
  const turns = Array.from({ length: count }, () => runTurn({ model, messages, tools }))
  await new Promise((resolve) => setTimeout(resolve, 1000))
  globalThis.gc()
  const kilobytes = (process.memoryUsage().rss - memory) / 1024 / count
  open()
  for (const turn of turns) {
    const { status } = await turn.result
    if (status !== 'complete') throw new Error(status)
  }
  const { user, system } = process.cpuUsage(cpu)
  return { ms: (user + system) / 1000 / count, kilobytes }
}
