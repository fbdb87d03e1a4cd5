import assert from 'node:assert/strict'
import test, { after, afterEach, before, describe } from 'node:test'
import pg from 'pg'
import postgres from 'postgres'
import { customModel, defineTool, listTurns, resumeTurn, runTurn } from 'turnlock'
import { postgresSchema, postgresStore } from 'turnlock/stores/postgres'
import { storeConformance } from 'turnlock/testing'
import { until, untilAnswered } from '../patience.mjs'
import { commitOf, HOUR } from './commits.mjs'
import { startPostgres } from './postgres-server.mjs'
import { playRule } from './rule.mjs'

const code = (wanted) => (error) => error.name === 'TurnlockError' && error.code === wanted

const pool = (server, more) => {
  const client = new pg.Pool({ ...server.connection, max: 3, ...more })
  // A connection that is lost while nobody uses it.
  client.on('error', () => {})
  return { client, close: () => client.end() }
}
const CLIENTS = {
  pg: (server) => pool(server),
  postgres: ({ path, connection: { user, database } }) => {
    const client = postgres({ path, user, database, max: 3, onnotice() {} })
    return { client, close: () => client.end({ timeout: 5 }) }
  },
  'one client of pg': async (server) => {
    const client = new pg.Client(server.connection)
    await client.connect()
    return { client, close: () => client.end() }
  },
  'a function': (server) => {
    const { client, close } = pool(server)
    return { client: async (text, values) => (await client.query(text, values)).rows, close }
  },
  'pg, serializable': (server) =>
    pool(server, { options: '-c default_transaction_isolation=serializable' }),
}

let server
const open = []
const connect = async (make = CLIENTS.pg) => {
  const connection = await make(server)
  open.push(connection)
  return connection.client
}
const closeAll = async () => {
  for (const { close } of open.splice(0)) await close()
}
before(async () => (server = await startPostgres('fsync=off')))
afterEach(closeAll)
after(async () => {
  await server?.stop()
})

for (const name of ['pg', 'postgres', 'pg, serializable']) {
  describe(`Postgres by ${name}`, () => {
    for (const { name: what, run } of storeConformance(async () =>
      postgresStore(await connect(CLIENTS[name])),
    )) {
      test(what, run)
    }
  })
}

describe('Postgres', () => {
  for (const [shape, make] of Object.entries(CLIENTS)) {
    test(`a client of the shape: ${shape}`, async () => {
      const store = postgresStore(await connect(make))
      const more = { records: [['r', 'é\ud800']], reusable: [[shape, 'x', HOUR]] }
      assert.deepEqual(await store.commit(shape, commitOf('o', 1, more)), { ok: true })
      assert.deepEqual((await store.read(shape)).records, [['r', 'é\ud800']])
      assert.deepEqual(await store.events(shape, 0, 10), [])
      assert.equal((await store.recall(shape)).text, 'x')
      assert.equal(await store.recall('none'), undefined)
      assert.equal(await store.read('none'), undefined)
      assert.equal(await store.idle('none'), undefined)
    })
  }

  test('what is no client, and names that are none, are refused', () => {
    for (const wrong of [undefined, null, {}, 'postgres://', { get() {} }]) {
      assert.throws(() => postgresStore(wrong), code('options.invalid'))
    }
    for (const prefix of ['', 'a b', 'x"', 'a.b.c', '1a', 'a;b', 'é', 'x'.repeat(60)]) {
      assert.throws(() => postgresStore(async () => [], { prefix }), code('options.invalid'))
      assert.throws(() => postgresSchema({ prefix }), code('options.invalid'))
    }
  })

  test('the rule, as the function in the database judges', async () =>
    playRule(postgresStore(await connect())))

  test('stores that begin at once in an empty database make its tables once', async () => {
    const client = await connect()
    await client.query('CREATE DATABASE empty')
    const makers = Array.from({ length: 6 }, () => () => {
      return pool({ connection: { ...server.connection, database: 'empty' } })
    })
    const stores = await Promise.all(makers.map(async (make) => postgresStore(await connect(make))))
    const answers = await Promise.all(stores.map((store) => store.commit('t', commitOf('o', 1))))
    assert.deepEqual(new Set(answers.map(({ ok }) => ok)), new Set([true]))
  })

  test('a migration makes the tables, in a schema; a role that may not create uses them', async () => {
    const admin = await connect()
    const prefix = 'app.mine_'
    await admin.query('CREATE SCHEMA app; CREATE ROLE worker LOGIN')
    const worker = await connect(() => pool(server, { user: 'worker' }))
    await assert.rejects(postgresStore(worker, { prefix }).read('t'), code('store.denied'))
    for (const _ of ['once', 'again']) await admin.query(postgresSchema({ prefix }))
    await assert.rejects(postgresStore(worker, { prefix }).read('t'), code('store.denied'))
    await admin.query(`GRANT USAGE ON SCHEMA app TO worker;
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA app TO worker`)
    const store = postgresStore(worker, { prefix })
    assert.deepEqual(await store.commit('t', commitOf('o', 1)), { ok: true })
    assert.equal((await store.read('t')).owner, 'o')
    assert.equal(await postgresStore(admin).read('t'), undefined)
  })

  test('a commit that fails anywhere leaves nothing of it, with a typed error', async () => {
    const client = await connect()
    const store = postgresStore(client, { prefix: 'torn_' })
    const one = { records: [['first', 'x']], events: { last: 1, text: '[]' } }
    await store.commit('t', commitOf('o', 1, one))
    const seen = async () => [
      { ...(await store.read('t')), idleMs: 0 },
      await store.events('t', 0, 9),
      await store.recall('torn'),
    ]
    const before = await seen()
    const commit = commitOf('o', 2, {
      state: 'new',
      records: [['second', 'x']],
      events: { last: 2, text: '[]' },
      forget: 1,
      reusable: [['torn', 'x', HOUR]],
    })
    await client.query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      RAISE EXCEPTION 'could not extend file: No space left' USING ERRCODE = '53100'; END $$`)
    for (const [table, what] of [
      ['turns', 'UPDATE'],
      ['records', 'INSERT'],
      ['events', 'INSERT'],
      ['events', 'DELETE'],
      ['reusable', 'INSERT'],
    ]) {
      const trigger = `no_room BEFORE ${what} ON torn_${table} FOR EACH ROW EXECUTE FUNCTION full_disk()`
      await client.query(`CREATE TRIGGER ${trigger}`)
      await assert.rejects(store.commit('t', commit), code('store.quota'), `${what} ${table}`)
      await client.query(`DROP TRIGGER no_room ON torn_${table}`)
      assert.deepEqual(await seen(), before)
    }
    assert.deepEqual(await store.commit('t', commit), { ok: true })
  })

  test('a commit that waits too long for its turn fails, and may be sent again', async () => {
    const other = await connect(CLIENTS['one client of pg'])
    const patient = await connect(() => pool(server, { options: '-c statement_timeout=200' }))
    const store = postgresStore(patient)
    await store.commit('held', commitOf('o', 1))
    await other.query('BEGIN')
    await other.query('SELECT 1 FROM turnlock_turns FOR UPDATE')
    await assert.rejects(store.commit('held', commitOf('o', 2)), code('store.unavailable'))
    await other.query('ROLLBACK')
    assert.deepEqual(await store.commit('held', commitOf('o', 2)), { ok: true })
  })

  test('a client that is closed', async () => {
    for (const name of ['pg', 'postgres', 'one client of pg']) {
      const { client, close } = await CLIENTS[name](server)
      const store = postgresStore(client)
      await store.read('t')
      await close()
      await assert.rejects(store.read('t'), code('store.closed'), name)
      await assert.rejects(store.commit('t', commitOf('o', 1)), code('store.closed'), name)
    }
  })

  test('expired turns and outcomes are cleared away by later ones', async () => {
    const client = await connect()
    const store = postgresStore(client, { prefix: 'swept_' })
    for (let n = 0; n < 6; n++) {
      const more = { records: [['r', 'x']], events: { last: 1, text: '[]' }, ttlMs: 1 }
      await store.commit(`t${n}`, commitOf('o', 1, { ...more, reusable: [[`k${n}`, 'x', 1]] }))
    }
    for (let n = 0; n < 6; n++) {
      await until(async () => !(await store.read(`t${n}`)) && !(await store.recall(`k${n}`)))
    }
    await store.commit('new', commitOf('o', 1))
    const counts = []
    for (const table of ['turns', 'records', 'events', 'reusable']) {
      const { rows } = await client.query(`SELECT count(*)::int AS n FROM swept_${table}`)
      counts.push(rows[0].n)
    }
    assert.deepEqual(counts, [1, 0, 0, 0])
  })

  // Sources: pingdotgg/t3code#3951 (2026-07-14), better-auth/better-auth#7182 (2026-01-07): one row of an
  // older build makes every list fail.
  test('listTurns: a row that cannot be read is left out', async () => {
    const client = await connect()
    const store = postgresStore(client)
    const state = JSON.stringify({ v: 1, status: 'paused', seq: 1, toolBatchId: 0, leaseMs: 1 })
    for (const id of ['good', 'state', 'name', 'null']) {
      await store.commit(JSON.stringify(['spoiled', id]), commitOf('o', 1, { state }))
    }
    const spoil = (member, value, id) =>
      client.query(`UPDATE turnlock_turns SET ${member} = $1 WHERE name = $2`, [
        value,
        JSON.stringify(['spoiled', id]),
      ])
    await spoil('state', '\u0001{', 'state')
    await spoil('state', 'null', 'null')
    await spoil('name', '\u0001{', 'name')
    const listed = await listTurns({ store, tenant: 'spoiled' })
    assert.deepEqual(
      listed.map(({ requestId }) => requestId),
      ['good'],
    )
  })

  // Source: a review of open-telemetry/opentelemetry-ecosystem-explorer#284 (2026-04-23): after the clock
  // was set back, ages are negative until time catches up.
  test('a clock that was set back: an owner that is gone does not seem alive for as long', async () => {
    for (const name of ['pg', 'postgres', 'pg, serializable']) {
      const client = await connect()
      const store = postgresStore(await connect(CLIENTS[name]))
      const turn = JSON.stringify([`back ${name}`, 'r'])
      await store.commit(turn, commitOf('o', 1))
      const looks = [
        async () => (await store.read(turn)).idleMs,
        () => store.idle(turn),
        async () => (await store.list(`back ${name}`, 9))[0].idleMs,
      ]
      for (const look of looks) {
        // As after an hour that comes twice.
        await client.query(`UPDATE turnlock_turns SET at = at + ${HOUR} WHERE name = $1`, [turn])
        assert.equal(await look(), 0)
        await until(async () => (await look()) > 0)
      }
      assert.deepEqual(await store.commit(turn, commitOf('o', 2)), { ok: true })
    }
  })

  const CALL = [{ index: 0, id: 'c', name: 'pay' }]
  const model = customModel(async function* ({ messages }) {
    if (messages.some(({ content }) => String(content).includes('TOOL RESULT'))) {
      return yield { type: 'text', text: 'Paid.' }
    }
    yield { type: 'tool_call_start', ...CALL[0] }
    yield { type: 'tool_call_arguments', index: 0, text: '{}' }
    yield { type: 'tool_call_end', index: 0 }
  })
  const messages = [{ role: 'user', content: 'pay' }]
  const paying = (execute) => {
    const inputSchema = { type: 'object' }
    return { pay: defineTool({ description: 'Pays.', inputSchema, execute }) }
  }

  test('connections that are cut while a tool runs: the turn goes on, and it ran once', async () => {
    const admin = await connect(CLIENTS['one client of pg'])
    const client = await connect()
    let runs = 0
    const tools = paying(async () => {
      runs++
      await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`)
      return 'done'
    })
    const store = postgresStore(client)
    const { status, text } = await runTurn({ model, messages, tools, store }).result
    assert.deepEqual([status, text, runs], ['complete', 'Paid.', 1])
  })

  test('two processes resume a turn at once: one goes on, the other is told', async () => {
    const stores = [postgresStore(await connect()), postgresStore(await connect(CLIENTS.postgres))]
    let runs = 0
    const tools = paying(() => ++runs)
    const policy = { pauseAfterTools: true }
    const first = await runTurn({ model, messages, tools, store: stores[0], policy }).result
    assert.equal(first.status, 'paused')
    const { requestId } = first
    const results = await Promise.all(
      stores.map((store) => resumeTurn({ requestId, model, tools, store }).result),
    )
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ['complete', 'failed'])
    const { error } = results.find(({ status }) => status === 'failed')
    assert.equal(error.code, 'turn.conflict')
    assert.equal(runs, 1)
  })
})

describe('Postgres restarted', () => {
  test('a server that dies under load: answered commits stand, no revision is written twice', async (t) => {
    const own = await startPostgres()
    const { client, close } = CLIENTS.pg(own)
    t.after(async () => {
      await close()
      await own.stop()
    })
    const store = postgresStore(client)
    let answered = 0
    let failed = false
    const writing = (async () => {
      for (let revision = 1; revision <= 300; revision++) {
        const commit = commitOf('o', revision, { records: [[`r${revision}`, 'x']] })
        assert.deepEqual(await untilAnswered(() => store.commit('t', commit)), { ok: true })
        answered = revision
      }
    })()
    writing.catch(() => (failed = true))
    for (const landmark of [50, 150]) {
      while (answered < landmark && !failed) await new Promise((resolve) => setImmediate(resolve))
      if (failed) await writing
      await own.kill()
      const known = answered
      await own.start()
      const { revision } = await untilAnswered(() => store.read('t'))
      assert.ok(revision >= known, `${known} were answered, ${revision} are there`)
    }
    await writing
    const { records } = await store.read('t')
    assert.deepEqual(
      records.map(([name]) => name),
      Array.from({ length: 300 }, (_, at) => `r${at + 1}`),
    )
  })
})
