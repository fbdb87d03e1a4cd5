/** A uniform way to run scripts with different Redis clients. */
import { TurnlockError } from '../errors.js'

type Reply = Promise<unknown>

/** node-redis 4 and later: `createClient`, `createClientPool`, `createCluster`. */
interface NodeRedis {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Reply
  eval(script: string, options: { keys: string[]; arguments: string[] }): Reply
}

/** ioredis: `new Redis()`, `new Redis.Cluster()`. */
interface IoRedis {
  call(command: string, ...args: never[]): Reply
  evalsha(sha: string, keys: number, ...keysAndArgs: string[]): Reply
  eval(script: string, keys: number, ...keysAndArgs: string[]): Reply
}

/** Deno's `redis`, `@upstash/redis`. */
interface WithLists {
  evalsha(sha: string, keys: string[], args: string[]): Reply
  eval(script: string, keys: string[], args: string[]): Reply
}

/** Any client or function that sends one command. */
type SendsCommands =
  | ((args: string[]) => Reply)
  | { sendCommand(args: string[]): Reply }
  | { send(command: string, args: string[]): Reply }

/** A client of one of the known shapes. */
export type RedisClientLike = NodeRedis | IoRedis | WithLists | SendsCommands

/** Runs a script by its hash or, the first time, by its text. */
export type Send = (script: string, keys: string[], args: string[]) => Promise<unknown>

type Evaluate = (
  command: 'EVALSHA' | 'EVAL',
  script: string,
  keys: string[],
  args: string[],
) => Reply

/** Detects the kind of a client by its methods, the most specific kind first. */
function evaluator(client: unknown): Evaluate {
  const methods = client as Record<string, unknown> | null | undefined
  const has = (...names: string[]) => names.every((name) => typeof methods?.[name] === 'function')
  if (has('evalSha', 'eval')) {
    const redis = client as NodeRedis
    return (command, script, keys, args) =>
      redis[command === 'EVAL' ? 'eval' : 'evalSha'](script, { keys, arguments: args })
  }
  if (has('evalsha', 'eval', 'call')) {
    const redis = client as IoRedis
    return (command, script, keys, args) =>
      redis[command === 'EVAL' ? 'eval' : 'evalsha'](script, keys.length, ...keys, ...args)
  }
  if (has('evalsha', 'eval')) {
    const redis = client as WithLists
    return (command, script, keys, args) =>
      redis[command === 'EVAL' ? 'eval' : 'evalsha'](script, keys, args)
  }
  const flat = (script: string, keys: string[], args: string[]) => [
    script,
    String(keys.length),
    ...keys,
    ...args,
  ]
  if (has('sendCommand')) {
    const redis = client as { sendCommand(args: string[]): Reply }
    return (command, ...rest) => redis.sendCommand([command, ...flat(...rest)])
  }
  if (has('send')) {
    const redis = client as { send(command: string, args: string[]): Reply }
    return (command, ...rest) => redis.send(command, flat(...rest))
  }
  if (typeof client === 'function') {
    return (command, ...rest) => client([command, ...flat(...rest)]) as Reply
  }
  throw new TurnlockError(
    'options.invalid',
    'redisStore: give a client of redis or ioredis, or a function that sends one command',
  )
}

/** Redis identifies scripts by SHA-1. The hash has no security purpose here. */
async function sha1(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-1', new TextEncoder().encode(text))
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

export function sender(client: unknown): Send {
  const evaluate = evaluator(client)
  const hashes = new Map<string, Promise<string>>()
  return async (script, keys, args) => {
    let hash = hashes.get(script)
    if (!hash) hashes.set(script, (hash = sha1(script)))
    try {
      return await evaluate('EVALSHA', await hash, keys, args)
    } catch (error) {
      if (!String((error as Error | null)?.message ?? error).includes('NOSCRIPT')) throw error
      return evaluate('EVAL', script, keys, args)
    }
  }
}
