// 100 000 turns through memory and through Redis: does anything grow? npm run soak
//   node benches/soak.mjs [memory|redis] [turns]
import { Redis } from 'ioredis'
import { memoryStore } from 'turnlock'
import { redisStore } from 'turnlock/stores/redis'
import { startRedis } from '../tests/stores/redis-server.mjs'
import { slope, soak } from './stores/soak.mjs'

const [only, count = '100000'] = process.argv.slice(2)
const turns = Number(count)
const samples = 20
const MB = 1e6

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

const line = (cells) => console.log(`| ${cells.join(' | ')} |`)
for (const [name, open] of Object.entries(STORES)) {
  if (only && only !== name) continue
  const { close, ...parts } = await open()
  const started = performance.now()
  const seen = await soak({ turns, samples, ...parts })
  const seconds = (performance.now() - started) / 1000
  await close()
  const has = 'server' in seen[0]
  const heads = ['turns', 'heap MB', 'RSS MB', 'wasm pages', 'handles']
  console.log(`\n${name}: ${turns} turns in ${seconds.toFixed(0)} s`)
  line([...heads, ...(has ? ['Redis MB', 'keys'] : [])])
  line([...heads, ...(has ? ['', ''] : [])].map(() => '---'))
  for (const one of seen.filter((_, at) => [0, 1, 4, 9, 14, 19].includes(at))) {
    const { heap, rss, pages, handles, server, keys } = one
    const all = [one.turns, (heap / MB).toFixed(1), (rss / MB).toFixed(1), pages, handles]
    line([...all, ...(has ? [(server / MB).toFixed(1), keys] : [])])
  }
  const grows = ['heap', 'rss', ...(has ? ['server'] : [])].map(
    (what) => `${what} ${slope(seen, (one) => one[what]).toFixed(1)}`,
  )
  console.log(`slope behind the first fifth, bytes per turn: ${grows.join(', ')}`)
}
console.log(`\nNode ${process.versions.node}`)
process.exit()
