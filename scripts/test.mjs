// npm test: set up, build, and every test in every runtime. Ends with `N passed, N failed`.
// npm test -- core page: these parts, or the steps whose names hold the word (scripts/steps.mjs).
//
// A step is a command; a runner's own counts are read from its output, any other command
// counts as one check. Three steps run side by side: one that compiles, one that reads code or, when
// all is read, one of the rest, and one of the rest; while a processor is idle, since steps wait for
// browsers, servers and clocks, up to five more of the rest. Cargo's commands wait for one another in any
// case, but for those of another directory. Steps that read data share one copy of the project.
import { setTimeout as sleep } from 'node:timers/promises'
import { copyAlone } from './alone.mjs'
import { direct, execute } from './execute.mjs'
import { idleness } from './idle.mjs'
import { judge, report, summary } from './failures.mjs'
import { cargoEnv, needTests, root } from './setup.mjs'
import { choose, prepare } from './steps.mjs'
import { main } from './tasks.mjs'

/** A step that has not ended by then is ended, in milliseconds: it hangs. */
const HANGS = 40 * 60_000
/** How often the processors are looked at, and the share of idle time at which another step begins. */
const LOOK_MS = 2_000
const IDLE = 0.1
/** Steps that run beside those of the three lanes. */
const FURTHER = 5
/** Steps that are named at the end as the slowest. */
const SLOWEST = 8

const valueOf = (value) => (typeof value === 'function' ? value() : value)
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`

async function play(step, alone) {
  const started = Date.now()
  const args = await valueOf(step.args)
  const { code, output } = await execute(args, {
    env: {
      ...cargoEnv,
      ...direct(process.env),
      TURNLOCK_ALONE: alone,
      ...(await valueOf(step.env)),
    },
    cwd: step.alone ? alone : root,
    limit: HANGS,
  })
  const counts = judge(code, output, step.skips)
  const ms = Date.now() - started
  console.log(`${summary(step.name, counts)} (${seconds(ms)})`)
  if (counts.failed) console.log(report(output))
  return { ...step, ...counts, ms }
}

await main(async () => {
  const started = Date.now()
  const steps = choose(process.argv.slice(2))
  needTests()
  await prepare(steps)
  const alone = copyAlone()
  console.log(`set up and built (${seconds(Date.now() - started)})`)

  const ended = new Map()
  const done = new Map(steps.map(({ name }) => [name, new Promise((end) => ended.set(name, end))]))
  const results = []
  const waiting = (lane) => steps.filter((step) => step.lane === lane)
  const [cargo, lint, rest] = ['cargo', 'lint', 'node'].map(waiting)
  const isReady = (step) =>
    (step.after ?? []).every((before) => results.some(({ name }) => name === before))
  /** The first step that need not wait for others, else the first. */
  const take = (queue) => queue.splice(Math.max(0, queue.findIndex(isReady)), 1)[0]
  const run = async (step) => {
    await Promise.all((step.after ?? []).map((before) => done.get(before)))
    results.push(await play(step, alone))
    ended.get(step.name)()
  }
  const work = async (...queues) => {
    for (const queue of queues) while (queue.length) await run(take(queue))
  }
  const fill = async () => {
    const idle = idleness()
    const further = new Set()
    while (rest.length) {
      await sleep(LOOK_MS)
      if (idle() < IDLE || further.size === FURTHER || !rest.length) continue
      const step = run(take(rest)).finally(() => further.delete(step))
      further.add(step)
    }
    await Promise.all(further)
  }
  // Cargo's own lock keeps compilations apart.
  const lanes = [work(cargo, rest, lint), work(lint, rest, cargo), work(rest, lint, cargo)]
  await Promise.all([...lanes, fill()])

  const slowest = results.toSorted((a, b) => b.ms - a.ms).slice(0, SLOWEST)
  console.log(`slowest: ${slowest.map(({ name, ms }) => `${name} ${seconds(ms)}`).join(', ')}`)
  console.log(`all: ${seconds(Date.now() - started)}`)
  const sum = (key) => results.reduce((all, one) => all + one[key], 0)
  console.log(`${sum('passed')} passed, ${sum('failed')} failed`)
  process.exit(sum('failed') ? 1 : 0)
})
