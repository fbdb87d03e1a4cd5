// The clients that people have are taken as they are; checked by redis.test.mjs.
import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster } from 'redis'
import { redisStore } from 'turnlock/stores/redis'

export const stores = [
  redisStore(createClient()),
  redisStore(await createClient({ url: 'redis://localhost' }).connect()),
  redisStore(createClientPool()),
  redisStore(createCluster({ rootNodes: [] })),
  redisStore(new Redis()),
  redisStore(new Cluster([])),
]
