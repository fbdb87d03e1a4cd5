// The handler of the chat's turns. In development Vite serves it (vite.config.mjs).
import { readdir } from 'node:fs/promises'
import { defineTool, memoryStore, openaiChat } from 'turnlock'
import { createHandler } from 'turnlock/server'

const { BASE_URL, OPENAI_API_KEY, MODEL } = process.env

export const handler = createHandler({
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
      needsApproval: true, // the turn pauses, and the user decides
      execute: () => readdir('.'),
    }),
  },
  store: memoryStore(),
  // Your users and their sessions belong here; null is a 401.
  authorize: () => ({ tenant: 'me' }),
  onEnd: ({ status, error }, { requestId }) => console.log(requestId, status, error?.code ?? ''),
  onError: (error) => console.error(error),
})
