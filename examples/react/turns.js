// Turns of the page: where they run, and what they may call. They are kept in IndexedDB, so that a
// turn that waits for the user is still there after a reload.
import { defineTool, localTurns, openaiChat } from 'turnlock'
import { indexedDbStore } from 'turnlock/stores/indexeddb'

export const turns = localTurns({
  model: openaiChat({ baseURL: '/api/v1', model: 'gpt-5-mini' }),
  store: indexedDbStore(),
  tools: {
    list_files: defineTool({
      description: 'Lists the files that this page has loaded.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      readOnly: true,
      needsApproval: true, // the turn pauses, and the user decides
      execute: () =>
        performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname),
    }),
  },
})
