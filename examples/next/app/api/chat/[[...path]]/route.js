// All routes of the handler, below /api/chat.
import { readdir } from 'node:fs/promises'
import { defineTool, memoryStore, openaiChat } from 'turnlock'
import { createHandler } from 'turnlock/server'

const { BASE_URL, OPENAI_API_KEY, MODEL } = process.env

// In memory, for one process; a module may be loaded again in development. On more than one
// instance it is `redisStore(client)` or `postgresStore(client)`.
globalThis.turns ??= memoryStore()

const handler = createHandler({
  model: openaiChat({
    baseURL: BASE_URL ?? 'https://api.openai.com/v1',
    apiKey: OPENAI_API_KEY,
    model: MODEL ?? 'gpt-5-mini',
  }),
  tools: {
    list_files: defineTool({
      description: 'Lists the files of this app.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      readOnly: true,
      execute: () => readdir('app'),
    }),
  },
  store: globalThis.turns,
  // Your users and their sessions belong here; null is a 401.
  authorize: () => ({ tenant: 'me' }),
  onEnd: ({ status, error }, { requestId }) => console.log(requestId, status, error?.code ?? ''),
  onError: (error) => console.error(error),
})

export { handler as GET, handler as POST }
