// Only compiled: what users write, under `exactOptionalPropertyTypes`.
import {
  anthropic,
  bundleTool,
  defineTool,
  fit,
  openaiChat,
  openHistory,
  runBundle,
  runChain,
  runTurn,
  runWithToolRequests,
  type PlanContext,
  type RunTurnOptions,
  type TraceEvent,
} from 'turnlock'
import { createHandler, toNodeListener } from 'turnlock/server'
import { indexedDbStore } from 'turnlock/stores/indexeddb'
import { redisStore } from 'turnlock/stores/redis'
import { storeConformance } from 'turnlock/testing'

const { KEY, URL, TENANT } = process.env
const model = openaiChat({
  baseURL: URL ?? 'http://x/v1',
  model: 'm',
  apiKey: KEY,
  fetch: undefined,
})
anthropic({ model: 'm', apiKey: KEY, baseURL: URL })
const messages = [{ role: 'user', content: 'go' }]
const limits = { maxCost: KEY ? 1 : undefined }
const replicate = async () => ({ data: 1, usage: undefined, model: KEY })
const tool = defineTool({
  ...{ description: 'd', inputSchema: { type: 'object' }, action: undefined, dedupe: undefined },
  needsApproval: KEY ? ({ id }) => id === 7 : undefined,
  execute: (args, { signal }) => [args.id, signal.aborted],
})
defineTool({
  description: 'd',
  inputSchema: {
    type: 'object',
    properties: {
      path: { type: 'string' },
      depth: { type: 'integer' },
      kind: { enum: ['file', 'folder'] },
      tags: { type: 'array', items: { type: ['string', 'null'] } },
      owner: { anyOf: [{ type: 'null' }, { type: 'object', properties: { id: { const: 7 } } }] },
    },
    required: ['path', 'kind'],
  },
  execute({ path, depth, kind, tags, owner }) {
    const all: [string, number | undefined, 'file' | 'folder', (string | null)[] | undefined] = [
      ...([path, depth, kind, tags] as const),
    ]
    const id: 7 | undefined = owner?.id
    return [all, id]
  },
})
runTurn({
  ...{ model, messages, tenant: TENANT, projectId: TENANT, policy: { maxTools: undefined } },
  tools: KEY ? { tool } : undefined,
  mode: KEY ? 'unified' : undefined,
  onTrace: undefined,
})
runBundle({ task: 't', replicate, limits: { max_bytes: undefined }, eventManager: {} })
bundleTool({ name: 'n', replicate: (args, { seed }) => ({ data: [args.q, seed] }), task: TENANT })
runWithToolRequests({
  model,
  input: {},
  prompts: { request: KEY, plan: undefined },
  parsePlan: JSON.parse,
})
const sized = {
  '~standard': {
    ...{ version: 1 as const, vendor: 'test' },
    validate: () => ({ value: { size: 1 } }),
  },
}
runWithToolRequests({ model, input: {}, planSchema: KEY ? sized : undefined }).then(
  ({ plan, notes }) => plan.size.toFixed(notes.length),
)
runWithToolRequests({ model, input: {}, planSchema: { type: 'object' } })
runChain({
  ...{ query: 'q', limits, refine: undefined, classifier: { threshold: undefined } },
  answer: async ({ query, fellBack }) => query + fellBack?.code,
  plan: ({ prompt }: PlanContext) => prompt,
  search: ({ query, attempt }) => [query, attempt],
  synthesize: ({ results }) => String(results.length),
  replan: ({ plan, remaining }) => (plan.steps.length > 2 ? remaining : null),
})
createHandler({
  ...{ model, store: indexedDbStore({ name: TENANT }), basePath: URL, keep: undefined },
  authorize: () => ({ tenant: 'a', projectId: TENANT }),
  twoStage: { enabled: undefined, headers: { maxTools: KEY } },
  cors: { origins: URL ? [URL] : undefined },
})
toNodeListener(() => new Response(), { protocol: undefined })
redisStore(async () => 0, { prefix: TENANT })
storeConformance(() => indexedDbStore(), { patienceMs: undefined })
openHistory({ dialect: 'gemini', conversationId: TENANT })

// A callback may declare narrower parameters, as those of a method may.
interface Message {
  role: string
}
type Started = Extract<TraceEvent, { type: 'tool_call' }>
createHandler({
  ...{ model, store: redisStore(async () => 0), authorize: () => ({ tenant: 'a' }) },
  prepare: (messages: Message[]) => messages.filter(({ role }) => role !== 'system'),
  onTrace: (event: Started) => void event.tool_name,
})

// An object of a class has what it needs for itself.
class Job implements RunTurnOptions {
  readonly model = model
  readonly log: string[] = []
  get messages() {
    return messages
  }
  onTrace({ type }: TraceEvent) {
    this.log.push(type)
  }
}
runTurn(new Job())

const pinned: { role: 'user'; content: string; pinned?: boolean }[] = []
fit(pinned, { dialect: 'openai-chat', maxBytes: 1, keep: (element) => element.pinned === true })

// @ts-expect-error misspelt
openaiChat({ baseURL: 'http://x/v1', model: 'm', apikey: KEY })
// @ts-expect-error misspelt
runTurn({ model, mesages: messages, messages })
// @ts-expect-error misspelt, within
runTurn({ model, messages, policy: { maxTool: 1 } })
// @ts-expect-error misspelt
runBundle({ task: 't', replicate, epsilom: 0.1 })
// @ts-expect-error misspelt, within
runBundle({ task: 't', replicate, limits: { max_byte: 1 } })
// @ts-expect-error required
openaiChat({ baseURL: undefined, model: 'm' })
// @ts-expect-error a value that does not exist
defineTool({ description: 'd', inputSchema: {}, execute: () => 1, dedupe: 'never' })
const typed = { type: 'object', properties: { path: { type: 'string' } } } as const
// @ts-expect-error not in the schema
defineTool({ description: 'd', inputSchema: typed, execute: ({ wrong }) => String(wrong) })
// @ts-expect-error may be missing
defineTool({ description: 'd', inputSchema: typed, execute: ({ path }) => path.length })
