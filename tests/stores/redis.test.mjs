import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test, { after, before, describe } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { customModel, defineTool, listTurns } from 'turnlock'
import { remoteTurns } from 'turnlock/remote'
import { createHandler } from 'turnlock/server'
import { redisStore } from 'turnlock/stores/redis'
import { storeConformance } from 'turnlock/testing'
import { until, untilAnswered } from '../patience.mjs'
import { commitOf, HOUR } from './commits.mjs'
import { startRedis } from './redis-server.mjs'
import { playRule } from './rule.mjs'

const code = (wanted) => (error) => error.name === 'TurnlockError' && error.code === wanted

/** Client shapes over one server; each gives stores, and closes what it opened. */
const CLIENTS = {
  redis: async ({ url }) => {
    const client = await createClient({ url })
      .on('error', () => {})
      .connect()
    return { client, close: () => client.destroy() }
  },
  ioredis: async ({ port }) => {
    const client = new Redis({ port })
    return { client, close: () => client.disconnect() }
  },
  'lists of keys and arguments': async ({ port }) => {
    const inner = new Redis({ port })
    const evalsha = (sha, keys, args) => inner.evalsha(sha, keys.length, ...keys, ...args)
    const evaluate = (script, keys, args) => inner.eval(script, keys.length, ...keys, ...args)
    return { client: { evalsha, eval: evaluate }, close: () => inner.disconnect() }
  },
  sendCommand: async ({ url }) => {
    const inner = await createClient({ url }).connect()
    const client = { sendCommand: (args) => inner.sendCommand(args) }
    return { client, close: () => inner.destroy() }
  },
  send: async ({ port }) => {
    const inner = new Redis({ port })
    const client = { send: (command, args) => inner.call(command, ...args) }
    return { client, close: () => inner.disconnect() }
  },
  'a function': async ({ url }) => {
    const inner = await createClient({ url }).connect()
    return { client: (args) => inner.sendCommand(args), close: () => inner.destroy() }
  },
}

/** A server with clients that end with the tests of a group. */
function serve(...options) {
  const bench = { open: [] }
  before(async () => (bench.server = await startRedis(...options)))
  after(async () => {
    for (const { close } of bench.open) await close()
    await bench.server.stop()
  })
  bench.connect = async (connect) => {
    const connection = await connect(bench.server)
    bench.open.push(connection)
    return connection.client
  }
  bench.store = async (connect = CLIENTS.ioredis, more) =>
    redisStore(await bench.connect(connect), more)
  return bench
}

for (const name of ['redis', 'ioredis']) {
  describe(`Redis by ${name}`, () => {
    const bench = serve('--appendonly', 'no')
    for (const { name: what, run } of storeConformance(() => bench.store(CLIENTS[name]))) {
      test(what, run)
    }
  })
}

describe('Redis', () => {
  const bench = serve('--appendonly', 'no')

  test('one store through clients of two libraries', async () => {
    const makers = [CLIENTS.redis, CLIENTS.ioredis]
    let next = 0
    const mixed = storeConformance(() => bench.store(makers[next++ % 2]))
    for (const { run } of mixed.filter(({ name }) => /at once|whole commits/.test(name))) {
      await run()
    }
  })

  test('two pages claim the call of a turn at once, through two clients: one runs it', async () => {
    const inputSchema = { type: 'object' }
    const model = customModel(async function* ({ messages }) {
      if (messages.some(({ content }) => String(content).includes('TOOL RESULT'))) {
        return yield { type: 'text', text: 'There.' }
      }
      yield { type: 'tool_call_start', index: 0, id: 'c', name: 'locate' }
      yield { type: 'tool_call_arguments', index: 0, text: '{}' }
      yield { type: 'tool_call_end', index: 0 }
    })
    let runs = 0
    const locate = defineTool({ description: 'where', inputSchema })
    const own = defineTool({ description: 'where', inputSchema, execute: () => ++runs })
    const tabs = []
    for (const connect of [CLIENTS.redis, CLIENTS.ioredis]) {
      const handler = createHandler({
        model,
        tools: { locate },
        store: await bench.store(connect),
        authorize: () => ({ tenant: 't' }),
      })
      const fetch = (url, init) => handler(new Request(url, init))
      const url = 'http://edge.example/api/chat'
      tabs.push(remoteTurns({ url, fetch, tools: { locate: own } }))
    }
    const turn = tabs[0].run({ messages: [{ role: 'user', content: 'where?' }] })
    let paused
    for await (const event of turn) paused = event
    assert.deepEqual(
      paused.calls?.map(({ id }) => id),
      ['c'],
    )
    const resumed = (await Promise.all(tabs.map((tab) => tab.answer(paused)))).filter(Boolean)
    assert.equal(resumed.length, 1)
    const { status, toolResults } = await resumed[0].result
    assert.deepEqual([status, toolResults[0].result, runs], ['complete', 1, 1])
  })

  for (const [shape, connect] of Object.entries(CLIENTS)) {
    test(`a client of the shape: ${shape}`, async () => {
      const store = await bench.store(connect)
      const commit = commitOf('o', 1, {
        records: [['r', 'é\ud800']],
        reusable: [[shape, 'x', HOUR]],
      })
      assert.deepEqual(await store.commit(shape, commit), { ok: true })
      assert.deepEqual((await store.read(shape)).records, [['r', 'é\ud800']])
      assert.deepEqual(await store.events(shape, 0, 10), [])
      assert.equal((await store.recall(shape)).text, 'x')
      assert.equal(await store.recall('none'), undefined)
      assert.equal(await store.read('none'), undefined)
    })
  }

  test('the types take the clients of both libraries as they are', () => {
    const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
    const here = fileURLToPath(new URL('.', import.meta.url))
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', here], { encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  })

  test('what is no client is refused', () => {
    for (const wrong of [undefined, null, {}, 'redis://', { get() {}, set() {} }]) {
      assert.throws(() => redisStore(wrong), code('options.invalid'))
    }
  })

  test('the rule, as the script on the server judges', async () => playRule(await bench.store()))

  test('a server that forgot its scripts gets them again', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client)
    await store.commit('flushed', commitOf('o', 1))
    await client.script('FLUSH')
    assert.equal((await store.read('flushed')).owner, 'o')
    await client.script('FLUSH')
    assert.deepEqual(await store.commit('flushed', commitOf('o', 2)), { ok: true })
  })

  test('every key has the prefix, and expires by itself', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client, { prefix: 'mine:' })
    const more = { records: [['r', 'x']], events: { last: 1, text: '[]' } }
    await store.commit('t', commitOf('o', 1, { ...more, reusable: [['k', 'x', HOUR]] }))
    const keys = await client.keys('mine:*')
    // Four of the turn, the reusable outcome, and the list of the tenant's open turns.
    assert.equal(keys.length, 6)
    for (const key of keys) {
      const left = await client.pttl(key)
      assert.ok(left > 0 && left <= HOUR, `${key}: ${left}`)
    }
    assert.equal(await redisStore(client).read('t'), undefined)
  })

  const tagOf = (turn) => `turnlock:{.${turn}}`

  test('evicted turn: keys that are left over belong to no turn', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client)
    const more = { records: [['r', 'old']], events: { last: 7, text: '[]' } }
    for (const evicted of [['turn'], ['turn', 'names'], ['turn', 'records'], ['turn', 'events']]) {
      const turn = `evicted ${evicted}`
      await store.commit(turn, commitOf('o', 1, more))
      await client.del(...evicted.map((key) => `${tagOf(turn)}:${key}`))
      assert.equal(await store.read(turn), undefined)
      assert.deepEqual(await store.events(turn, 0, 9), [])
      assert.deepEqual(await store.commit(turn, commitOf('o', 2)), { ok: false })
      const again = commitOf('p', 1, { records: [['r', 'new']], events: { last: 1, text: '[1]' } })
      assert.deepEqual(await store.commit(turn, again), { ok: true })
      assert.deepEqual((await store.read(turn)).records, [['r', 'new']])
      assert.deepEqual(await store.events(turn, 0, 9), [{ last: 1, text: '[1]' }])
    }
  })

  test('evicted records: the turn is lost, because its claims are', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client)
    await store.commit('claims', commitOf('o', 1, { records: [['claim', 'x']] }))
    await client.del(`${tagOf('claims')}:records`)
    assert.equal(await store.read('claims'), undefined)
    assert.deepEqual(await store.commit('claims', commitOf('o', 2)), { ok: false })
    const again = commitOf('p', 1, { records: [['claim', 'y']] })
    assert.deepEqual(await store.commit('claims', again), { ok: true })
    assert.deepEqual((await store.read('claims')).records, [['claim', 'y']])
  })

  test('listTurns: a row that cannot be read is left out', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client)
    const turnOf = (id) => JSON.stringify(['spoiled', id])
    const state = JSON.stringify({ v: 1, status: 'paused', seq: 1, toolBatchId: 0, leaseMs: 1 })
    for (const id of ['good', 'state', 'type', 'null', 'gone']) {
      await store.commit(turnOf(id), commitOf('o', 1, { state }))
    }
    await client.hset(`${tagOf(turnOf('state'))}:turn`, 'state', '\u0001{')
    await client.hset(`${tagOf(turnOf('null'))}:turn`, 'state', 'null')
    await client.set(`${tagOf(turnOf('type'))}:turn`, 'x')
    await client.hdel(`${tagOf(turnOf('gone'))}:turn`, 'state', 'at')
    await client.zadd(`${tagOf('spoiled')}:open`, Date.now() + HOUR, '\u0001{')
    await client.zadd(`${tagOf('spoiled')}:open`, Date.now() + HOUR, '["spoiled"]')
    const listed = await listTurns({ store, tenant: 'spoiled' })
    assert.deepEqual(
      listed.map(({ requestId }) => requestId),
      ['good'],
    )
  })

  test('a clock that was set back: an owner that is gone does not seem alive for as long', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client)
    const turn = JSON.stringify(['back', 'r'])
    await store.commit(turn, commitOf('o', 1))
    const looks = [
      async () => (await store.read(turn)).idleMs,
      () => store.idle(turn),
      async () => (await store.list('back', 9))[0].idleMs,
    ]
    for (const look of looks) {
      // As after an hour that comes twice.
      await client.hset(`${tagOf(turn)}:turn`, 'at', Date.now() + HOUR)
      assert.equal(await look(), 0)
      await until(async () => (await look()) > 0)
    }
  })

  test('a full server fails the commit whole, with a typed error', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client)
    await store.commit('full', commitOf('o', 1))
    await client.config('SET', 'maxmemory', '1')
    try {
      const commit = commitOf('o', 2, { state: 'new', records: [['r', 'x']] })
      await assert.rejects(store.commit('full', commit), code('store.quota'))
      const { revision, state, records } = await store.read('full')
      assert.deepEqual([revision, state, records], [1, 'state', []])
      await client.config('SET', 'maxmemory', '0')
      assert.deepEqual(await store.commit('full', commit), { ok: true })
    } finally {
      await client.config('SET', 'maxmemory', '0')
    }
  })

  test('a client that may not, and one that is closed', async () => {
    const admin = await bench.connect(CLIENTS.ioredis)
    await admin.call('ACL', 'SETUSER', 'guest', 'on', '>pw', '~*', '+ping', '+info')
    const guest = await bench.connect(async ({ port }) => {
      const options = { port, username: 'guest', password: 'pw' }
      const client = new Redis(options)
      return { client, close: () => client.disconnect() }
    })
    await assert.rejects(redisStore(guest).read('t'), code('store.denied'))
    for (const name of ['redis', 'ioredis']) {
      const { client, close } = await CLIENTS[name](bench.server)
      const store = redisStore(client)
      await store.read('t')
      close()
      await assert.rejects(store.read('t'), code('store.closed'))
      await assert.rejects(store.commit('t', commitOf('o', 1)), code('store.closed'))
    }
  })

  test('100 000 turns in flat memory: what has expired takes no room', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    const store = redisStore(client, { prefix: 'many:' })
    const others = await client.dbsize()
    const used = async () => {
      // The server expires by sampling, and counts what has expired until it has found it.
      await until(async () => (await client.dbsize()) <= others)
      return Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))[1])
    }
    const text = 'x'.repeat(200)
    const run = async (from, to) => {
      for (let n = from; n < to; n += 500) {
        await Promise.all(
          Array.from({ length: 500 }, async (_, at) => {
            const turn = `t${n + at}`
            const more = { ttlMs: 200, records: [['r', text]], events: { last: 1, text } }
            const reusable = [[turn, text, 200]]
            const answer = await store.commit(turn, commitOf('o', 1, { ...more, reusable }))
            assert.deepEqual(answer, { ok: true })
          }),
        )
      }
    }
    await run(0, 20_000)
    const early = await used()
    await run(20_000, 100_000)
    // Kept, 80 000 turns would take 80 MB. The tables that held the keys grow with how many there
    // are at once, which is a matter of time, and shrink when they are empty, some time later.
    await until(async () => (await used()) - early < 4e6)
  })
})

describe('Redis Cluster: the keys of a turn are in one slot', () => {
  const bench = serve('--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1')
  before(async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
    await until(async () => /cluster_state:ok/.test(await client.call('CLUSTER', 'INFO')))
  })
  const CLUSTERS = {
    redis: async ({ url }) => {
      const client = createCluster({ rootNodes: [{ url }] })
      await client.connect()
      return { client, close: () => client.destroy() }
    },
    ioredis: async ({ port }) => {
      const client = new Cluster([{ host: '127.0.0.1', port }])
      return { client, close: () => client.disconnect() }
    },
  }
  for (const [name, connect] of Object.entries(CLUSTERS)) {
    let store
    const cases = storeConformance(async () => (store ??= await bench.store(connect)))
    for (const { name: what, run } of cases) test(`${name}: ${what}`, run)
  }

  test('a server that refuses keys of two slots refuses none of ours', async () => {
    const client = await bench.connect(CLIENTS.ioredis)
    await assert.rejects(client.del('one', 'other'), /CROSSSLOT/)
    const store = redisStore(client)
    for (const turn of ['', '}', '{', '{}', '}{a}', 'a}b{c']) {
      assert.deepEqual(await store.commit(turn, commitOf('o', 1)), { ok: true })
    }
    for (const prefix of ['', 'a:', '{', '}', 'a{b}', 'x{y', 'a}b{c', ' ', 'é{']) {
      const own = redisStore(client, { prefix })
      assert.deepEqual(await own.commit('turn', commitOf('o', 1)), { ok: true }, prefix)
    }
    // Redis hashes the whole key if its first braces are empty.
    for (const prefix of ['{}', 'a{}', '{}{a}', '}{}', 5]) {
      assert.throws(() => redisStore(client, { prefix }), code('options.invalid'), String(prefix))
    }
  })
})

describe('Redis restarted: what it kept is its own business', () => {
  for (const [durable, ...options] of [
    [true, '--appendonly', 'yes', '--appendfsync', 'always'],
    [false, '--appendonly', 'no'],
  ]) {
    test(`${durable ? 'with' : 'without'} an append-only file`, async () => {
      const server = await startRedis(...options)
      const { client, close } = await CLIENTS.redis(server)
      try {
        const store = redisStore(client)
        const records = [['claim', 'x']]
        const events = { last: 3, text: '["e"]' }
        await store.commit('t', commitOf('o', 1, { records, events }))
        await server.kill()
        await server.start()
        const kept = await untilAnswered(() => store.read('t'))
        if (durable) {
          assert.deepEqual([kept.owner, kept.revision, kept.records], ['o', 1, records])
          assert.deepEqual(await store.events('t', 0, 10), [events])
          assert.deepEqual(await store.commit('t', commitOf('o', 1)), { ok: true })
          assert.deepEqual(await store.commit('t', commitOf('o', 2)), { ok: true })
        } else {
          assert.equal(kept, undefined)
          assert.deepEqual(await store.commit('t', commitOf('o', 2)), { ok: false })
        }
      } finally {
        close()
        await server.stop()
      }
    })
  }

  test('a server that dies under load: answered commits stand, no revision is written twice', async () => {
    const server = await startRedis('--appendonly', 'yes', '--appendfsync', 'always')
    const { client, close } = await CLIENTS.redis(server)
    try {
      const store = redisStore(client)
      let answered = 0
      const writing = (async () => {
        for (let revision = 1; revision <= 300; revision++) {
          const commit = commitOf('o', revision, { records: [[`r${revision}`, 'x']] })
          assert.deepEqual(await untilAnswered(() => store.commit('t', commit)), { ok: true })
          answered = revision
        }
      })()
      let failed = false
      writing.catch(() => (failed = true))
      for (const landmark of [50, 120, 200]) {
        while (answered < landmark && !failed) await new Promise((resolve) => setImmediate(resolve))
        if (failed) await writing
        await server.kill()
        const known = answered
        await server.start()
        const { revision } = await untilAnswered(() => store.read('t'))
        assert.ok(revision >= known, `${known} were answered, ${revision} are there`)
      }
      await writing
      const { records } = await store.read('t')
      assert.deepEqual(
        records.map(([name]) => name),
        Array.from({ length: 300 }, (_, at) => `r${at + 1}`),
      )
    } finally {
      close()
      await server.stop()
    }
  })
})
