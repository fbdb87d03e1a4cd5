// The clients that people have are taken as they are; checked by redis.test.mjs.
import { Cluster, Redis } from 'ioredis'
import pg from 'pg'
import postgres from 'postgres'
import { createClient, createClientPool, createCluster } from 'redis'
import { postgresStore } from 'turnlock/stores/postgres'
import { redisStore } from 'turnlock/stores/redis'

export const stores = [
  redisStore(createClient()),
  redisStore(await createClient({ url: 'redis://localhost' }).connect()),
  redisStore(createClientPool()),
  redisStore(createCluster({ rootNodes: [] })),
  redisStore(new Redis()),
  redisStore(new Cluster([])),
  postgresStore(new pg.Pool()),
  postgresStore(new pg.Client()),
  postgresStore(postgres()),
  postgresStore(async (text: string, values: string[]) => [{ reply: text + values.length }]),
]
