// The property of stores, for those of Node.
import { after, before, test } from 'node:test'
import { Redis } from 'ioredis'
import pg from 'pg'
import { memoryStore } from 'turnlock'
import { postgresSchema, postgresStore } from 'turnlock/stores/postgres'
import { redisStore } from 'turnlock/stores/redis'
import { startPostgres } from '../stores/postgres-server.mjs'
import { startRedis } from '../stores/redis-server.mjs'
import { holdsInStore } from './stores.mjs'

test('memory', () => {
  const make = () => {
    let now = 0
    return { store: memoryStore({ now: () => now }), wait: (ms) => (now += ms) }
  }
  return holdsInStore('memory', make, 1500)
})

let redis
let connection
before(async () => {
  redis = await startRedis()
  connection = new Redis({ port: redis.port })
})
after(async () => {
  connection?.disconnect()
  await redis?.stop()
})
test('Redis', () => holdsInStore('Redis', () => ({ store: redisStore(connection) }), 150))

let database
let pool
before(async () => {
  database = await startPostgres()
  pool = new pg.Pool({ ...database.connection, max: 4 })
  pool.on('error', () => {})
  await pool.query(postgresSchema())
})
after(async () => {
  await pool?.end()
  await database?.stop()
})
test('Postgres', () => holdsInStore('Postgres', () => ({ store: postgresStore(pool) }), 60))
