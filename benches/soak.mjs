// Does anything grow? Many turns through stores, many with faults in three runtimes, and readers that
// never read. npm run soak, or
//   node benches/soak.mjs [memory|redis|node|workerd|chromium|readers,…] [turns]
import { Redis } from 'ioredis'
import { memoryStore } from 'turnlock'
import { redisStore } from 'turnlock/stores/redis'
import { startRedis } from '../tests/stores/redis-server.mjs'
import { NAMES } from './soak/faults.mjs'
import { idleReaders } from './soak/readers.mjs'
import { RUNTIMES } from './soak/runtimes.mjs'

const [only, count] = process.argv.slice(2)
const samples = 20
const MB = 1e6
const SHOWN = [0, 1, 4, 9, 14, 19]

const STORES = {
  memory: async () => ({ store: memoryStore({ maxTurns: 1000 }), close() {} }),
  async redis() {
    const server = await startRedis('--appendonly', 'no')
    const client = new Redis({ port: server.port })
    const see = async () => {
      const info = await client.info('memory')
      return { server: Number(/^used_memory:(\d+)/m.exec(info)[1]), keys: await client.dbsize() }
    }
    const close = async () => {
      client.disconnect()
      await server.stop()
    }
    return { store: redisStore(client), keep: { ttlMs: 5000, leaseMs: 5000 }, see, close }
  },
}
/** Turns with faults, by runtime. */
const FAULTY = { node: 1_000_000, workerd: 100_000, chromium: 20_000 }

const line = (cells) => console.log(`| ${cells.join(' | ')} |`)
const head = (cells) => {
  line(cells)
  line(cells.map(() => '---'))
}
const mb = (bytes) => (bytes / MB).toFixed(1)

async function throughStore(name) {
  const { slope, soak } = await import('./stores/soak.mjs')
  const { close, ...parts } = await STORES[name]()
  const turns = Number(count ?? 100_000)
  const started = performance.now()
  const seen = await soak({ turns, samples, ...parts })
  const seconds = (performance.now() - started) / 1000
  await close()
  const has = 'server' in seen[0]
  console.log(`\n${name}: ${turns} turns in ${seconds.toFixed(0)} s\n`)
  head([
    'turns',
    'heap MB',
    'RSS MB',
    'wasm pages',
    'handles',
    ...(has ? ['Redis MB', 'keys'] : []),
  ])
  for (const one of SHOWN.map((at) => seen[at])) {
    const { heap, rss, pages, handles, server, keys } = one
    line([one.turns, mb(heap), mb(rss), pages, handles, ...(has ? [mb(server), keys] : [])])
  }
  const grows = ['heap', 'rss', ...(has ? ['server'] : [])].map(
    (what) => `${what} ${slope(seen, (one) => one[what]).toFixed(1)}`,
  )
  console.log(`\nslope behind the first fifth, bytes per turn: ${grows.join(', ')}`)
}

async function withFaults(name) {
  const turns = Number(count ?? FAULTY[name])
  const runtime = await RUNTIMES[name]()
  const started = performance.now()
  const ends = {}
  console.log(`\n${name}: ${turns} turns with ${NAMES.length - 1} kinds of faults\n`)
  for (let at = 0; at < samples; at++) {
    const batch = await runtime.run(turns / samples)
    const sizes = Object.entries(batch.memory).map(([what, bytes]) => `${what} MB`)
    if (at === 0) head(['turns', ...sizes, ...Object.keys(batch.held)])
    if (SHOWN.includes(at)) {
      const all = (turns / samples) * (at + 1)
      line([all, ...Object.values(batch.memory).map(mb), ...Object.values(batch.held)])
    }
    for (const [fault, own] of Object.entries(batch.ends)) {
      const sum = (ends[fault] ??= {})
      for (const [end, times] of Object.entries(own)) sum[end] = (sum[end] ?? 0) + times
    }
  }
  await runtime.close()
  const seconds = (performance.now() - started) / 1000
  const told = Object.entries(ends).map(
    ([fault, own]) => `${fault}: ${Object.keys(own).sort().join(', ')}`,
  )
  console.log(`\n${seconds.toFixed(0)} s; ends: ${told.join('; ')}`)
}

async function readers() {
  const readers = Number(count ?? 1000)
  const seen = await idleReaders({ count: readers, pieces: 20_000 })
  const statuses = [...seen.statuses].join()
  if (statuses !== '200' || seen.ends !== 'complete') throw new Error(`${statuses}, ${seen.ends}`)
  const each = (seen.after - seen.opened) / readers / 1000
  console.log(
    `\nreaders: ${readers} over HTTP that never read, of ${mb(seen.bytes)} MB of events each (the turn: ${seen.ends}); ` +
      `the process, which has both ends, takes ${mb(seen.opened - seen.before)} MB when they are open ` +
      `and ${mb(seen.after - seen.opened)} MB more behind the turn: ${each.toFixed(0)} KB each`,
  )
}

const parts = [...Object.keys(STORES), ...Object.keys(FAULTY), 'readers']
const asked = only?.split(',') ?? parts
if (!asked.every((part) => parts.includes(part))) throw new Error(`parts: ${parts.join(', ')}`)
for (const part of asked) {
  if (part in STORES) await throughStore(part)
  else if (part in FAULTY) await withFaults(part)
  else await readers()
}
console.log(`\nNode ${process.versions.node}`)
process.exit()
