// A process whose tool is guarded: it writes what it does into a file, and hangs if it is told to.
import { appendFileSync } from 'node:fs'
import { createClient } from 'redis'
import { guardTools } from 'turnlock/guard'
import { redisStore } from 'turnlock/stores/redis'

const { url, file, hangs, flags, ...options } = JSON.parse(process.argv[2])
const client = await createClient({ url }).connect()
const execute = async ({ to }, { idempotencyKey }) => {
  appendFileSync(file, `${to} ${idempotencyKey}\n`)
  if (hangs) await new Promise((resolve) => setTimeout(resolve, 600_000))
  return 'sent'
}
const policy = { tools: { send: flags } }
const guarded = { ...options, store: redisStore(client), policy }
const { send } = guardTools({ send: { execute } }, guarded)
const messages = [{ role: 'user', content: 'send it' }]
console.log(await send.execute({ to: 'Ada' }, { toolCallId: String(process.pid), messages }))
process.exit(0)
