// workerd ended, in order and by SIGKILL, with a turn under way in a Durable Object, and started
// again on the same storage.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { LANDMARKS } from './remote.mjs'
import { openSite } from './site.mjs'
import { judge } from './verdict.mjs'

const folder = mkdtempSync(join(tmpdir(), 'turnlock-workerd-'))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
/** Trials per landmark and kind of tool. */
const TRIALS = Number(process.env.TRIALS ?? 1)
let site, modules, workerd

const start = () =>
  new Miniflare({
    compatibilityDate: '2025-05-01',
    modules,
    bindings: { SITE: site.url },
    durableObjects: { turns: { className: 'Turns', useSQLite: true } },
    durableObjectsPersist: folder,
  })

before(async () => {
  site = await openSite()
  const entry = fileURLToPath(new URL('./worker.mjs', import.meta.url))
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    conditions: ['workerd', 'worker', 'browser'],
    outdir: '/',
    loader: { '.wasm': 'copy' },
    assetNames: '[name]',
  })
  const contents = (end) => outputFiles.find(({ path }) => path.endsWith(end))
  modules = [
    { type: 'ESModule', path: 'worker.mjs', contents: contents('.js').text },
    { type: 'CompiledWasm', path: 'turnlock.wasm', contents: contents('.wasm').contents },
  ]
  workerd = start()
  await workerd.ready
})
after(async () => {
  await workerd.dispose()
  await site.close()
  rmSync(folder, { recursive: true, force: true })
})

const fetchOf = (...what) =>
  workerd.dispatchFetch('http://x/', { method: 'POST', body: JSON.stringify(what) })
const ask = async (...what) => (await fetchOf(...what)).json()

/** The processes of workerd that this one started. */
function processes() {
  return readdirSync('/proc').filter((pid) => {
    try {
      const [, name, , parent] = /^\d+ \((.*)\) (\S) (\d+)/.exec(readFileSync(`/proc/${pid}/stat`))
      return name === 'workerd' && Number(parent) === process.pid
    } catch {
      return false // Not a process, or gone.
    }
  })
}

const ENDINGS = {
  async disposed() {
    await workerd.dispose()
    workerd = start()
  },
  async SIGKILL() {
    const [pid, ...more] = processes()
    assert.deepEqual([typeof pid, more], ['string', []])
    process.kill(Number(pid), 'SIGKILL')
    // Miniflare starts another one by itself.
    while (processes().includes(pid)) await pause(5)
    while (
      !(await ask('read', { trial: '' }).then(
        () => processes().length,
        () => 0,
      ))
    )
      await pause(20)
  },
}

/** Reads a turn over HTTP, and comes back with `Last-Event-ID` until it has seen the end. */
function follow(spec) {
  const events = []
  const read = async () => {
    const after = events.at(-1)?.seq ?? 0
    const response = await fetchOf('follow', spec, after)
    let text = ''
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const parts = (text + piece).split('\n\n')
      text = parts.pop()
      for (const part of parts) {
        const event = JSON.parse(/^data: (.*)$/m.exec(part)[1])
        if (['turn.not_found', 'turn.interrupted'].includes(event.code)) return false
        events.push(event)
      }
    }
    return events.at(-1)?.type === 'complete'
  }
  const done = (async () => {
    for (;;) {
      // A connection that broke, or workerd is not back yet.
      if (await read().catch(() => false)) return events
      await pause(20)
    }
  })()
  return done
}

for (const kind of ['plain', 'idempotent']) {
  for (const landmark of LANDMARKS) {
    test(`SIGKILL at: ${landmark}, ${kind}`, async () => {
      for (let n = 1; n <= TRIALS; n++) await trial(landmark, kind, n)
    })
  }
}

async function trial(landmark, kind, n) {
  const spec = { trial: `${landmark.replaceAll(' ', '_')}-${kind}-${n}`, kind }
  const reached = site.reached(spec.trial, landmark)
  const lost = ask('run', { ...spec, who: 'first', stopAt: landmark }).catch(() => 'lost')
  const followed = follow(spec)
  await reached
  // What the object sends leaves it behind what it wrote, so all of that is there; most often the
  // texts that gather are, then, too.
  await pause(landmark === 'in the answer' ? 60 : 20)
  await ENDINGS.SIGKILL()
  assert.equal(await lost, 'lost')
  const before = await ask('read', spec)
  assert.equal(before.idleMs, 'gone')
  const resume = (who) => ask('resume', { ...spec, who })
  const results = await Promise.all([resume('second'), resume('third')])
  const [after, events] = [await ask('read', spec), await ask('events', spec)]
  const seen = { after, last: after, events, lastEvents: events, results, before }
  const { faults, status, starts } = judge({
    ...seen,
    cell: { kind },
    holders: ['first'],
    fresh: await ask('all', spec),
    starts: site.starts(spec.trial),
    receipts: site.receipts(spec.trial),
    followed: await followed,
  })
  assert.deepEqual(faults, [])
  const inTool = ['tool started', 'effect applied'].includes(landmark)
  assert.equal(status, inTool && kind === 'plain' ? 'unknown' : 'ok')
  assert.equal(starts, inTool && kind === 'idempotent' ? 2 : 1)
}

for (const [ending, end] of Object.entries(ENDINGS)) {
  test(`paused behind the tools, ${ending}, resumed`, async () => {
    const spec = { trial: `paused-${ending}`, kind: 'plain', who: 'first' }
    const paused = await ask('run', spec, { pauseAfterTools: true })
    assert.equal(paused.status, 'paused')
    await end()
    const resumed = await ask('resume', { ...spec, who: 'second' })
    assert.deepEqual([resumed.status, resumed.text], ['complete', 'The lamp is on.'])
    assert.equal(resumed.toolResults[0].result, 'on')
    assert.equal(site.starts(spec.trial).length, 1)
    const events = await ask('all', spec)
    assert.deepEqual(
      events.map(({ seq }) => seq),
      events.map((_, at) => at + 1),
    )
    assert.equal((await ask('resume', spec)).error.code, 'turn.conflict')
  })
}
