// A chat server whose turns are kept in Redis: any process with the same Redis goes on with them.
import { readdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createClient } from 'redis'
import { defineTool, openaiChat } from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'
import { redisStore } from 'turnlock/stores/redis'

const { env } = process

const client = createClient({ url: env.REDIS_URL ?? 'redis://127.0.0.1:6379' })
// It tries again by itself; a turn fails meanwhile with `store.unavailable`.
client.on('error', (error) => console.error('Redis:', error.code ?? '', error.message))
await client.connect()

const handler = createHandler({
  model: openaiChat({
    baseURL: env.BASE_URL ?? 'https://api.openai.com/v1',
    apiKey: env.OPENAI_API_KEY,
    model: env.MODEL ?? 'gpt-5-mini',
  }),
  tools: {
    list_files: defineTool({
      description: 'Lists the files of the server.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      readOnly: true, // it may run again after a crash
      execute: () => readdir('.'),
    }),
  },
  store: redisStore(client),
  // Your users and their sessions belong here; null is a 401.
  authorize: () => ({ tenant: 'me' }),
  // Of a turn that has ended for good; where a model has failed, the client may resume it.
  onEnd: ({ status, error }, { requestId }) =>
    console.log(requestId, status, error ? `${error.code}: ${error.message}` : ''),
  onError: (error) => console.error(error),
})

const server = createServer(toNodeListener(handler))
server.listen(Number(env.PORT ?? 3000), '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}/api/chat`),
)
