// Only compiled: what users write, under `exactOptionalPropertyTypes`.
import {
  anthropic,
  claimCalls,
  defineTool,
  trimHistory,
  listTurns,
  openaiChat,
  openHistory,
  resumeTurn,
  runTurn,
  type Approval,
  type RunTurnOptions,
  type Tool,
  type TraceEvent,
  type Turn,
  type TurnResult,
  type JsonSchema,
  type StandardSchema,
  type ToolOptions,
} from 'turnlock'
import { bundleTool, runBundle } from 'turnlock/evidence'
import { runChain, type PlanContext } from 'turnlock/chain'
import { runPlanning } from 'turnlock/planning'
import type { z } from 'zod'
import { createChat, type Chat, type ChatOptions } from 'turnlock/chat'
import { useTurn } from 'turnlock/react'
import { remoteTurns, type PausedTurn } from 'turnlock/remote'
import { createHandler, toNodeListener } from 'turnlock/server'
import { indexedDbStore } from 'turnlock/stores/indexeddb'
import { redisStore } from 'turnlock/stores/redis'
import { sampleTools, scriptedProvider, storeConformance } from 'turnlock/testing'

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
  description: 'd',
  inputSchema: { type: 'object' },
  action: undefined,
  dedupe: undefined,
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
      note: { type: 'string', nullable: true },
      tags: { type: 'array', items: { type: ['string', 'null'] } },
      owner: { anyOf: [{ type: 'null' }, { type: 'object', properties: { id: { const: 7 } } }] },
    },
    required: ['path', 'kind'],
  },
  execute({ path, depth, kind, tags, owner, note }) {
    // Null is among its values.
    const isNullable: null extends typeof note ? true : false = true
    const all: [string, number | undefined, 'file' | 'folder', (string | null)[] | undefined] = [
      ...([path, depth, kind, tags] as const),
    ]
    const id: 7 | undefined = owner?.id
    return [all, id, isNullable]
  },
})
runTurn({
  model,
  messages,
  tenant: TENANT,
  projectId: TENANT,
  policy: { maxTools: undefined },
  tools: KEY ? { tool } : undefined,
  mode: KEY ? 'unified' : undefined,
  onTrace: undefined,
})
runBundle({ task: 't', replicate, limits: { maxBytes: undefined }, eventManager: {} })
bundleTool({ name: 'n', replicate: (args, { seed }) => ({ data: [args.q, seed] }), task: TENANT })
runPlanning({
  model,
  input: {},
  prompts: { request: KEY, plan: undefined },
  parsePlan: JSON.parse,
})
const sized = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: () => ({ value: { size: 1 } }),
  },
}
runPlanning({ model, input: {}, planSchema: KEY ? sized : undefined }).then(({ plan, notes }) =>
  plan.size.toFixed(notes.length),
)
runPlanning({ model, input: {}, planSchema: { type: 'object' } })
runChain({
  query: 'q',
  limits,
  refine: undefined,
  classifier: { threshold: undefined },
  answer: async ({ query, fellBack }) => query + fellBack?.code,
  plan: ({ prompt }: PlanContext) => prompt,
  search: ({ query, attempt }) => [query, attempt],
  synthesize: ({ results }) => String(results.length),
  replan: ({ plan, remaining }) => (plan.steps.length > 2 ? remaining : null),
})
runChain({
  query: 'q',
  search: ({ query }) => [query],
  plan: () => runTurn({ model, messages }),
  answer: ({ signal }) => runTurn({ model, messages, signal }),
  synthesize: async () => await runTurn({ model, messages }).result,
})
runChain({
  query: 'q',
  search: ({ query }) => [query],
  plan: async () => runTurn({ model, messages }).textStream,
  answer: async () => runTurn({ model, messages }),
  // @ts-expect-error A number is no text.
  synthesize: () => 7,
})
createHandler({
  model,
  store: indexedDbStore({ name: TENANT }),
  basePath: URL,
  keep: undefined,
  authorize: () => ({ tenant: 'a', projectId: TENANT }),
  twoStage: { enabled: undefined, headers: { maxTools: KEY } },
  cors: { origins: URL ? [URL] : undefined },
})
toNodeListener(() => new Response(), { protocol: undefined })
redisStore(async () => 0, { prefix: TENANT })
storeConformance(() => indexedDbStore(), { patienceMs: undefined })
const provider = scriptedProvider({
  scripts: {
    tides: (rest, { requests, view }) =>
      requests.length > 1
        ? { text: [rest, view.system] }
        : { status: 503, retryAfterMs: undefined },
    tape: () => ({ events: ['data: [DONE]\n\n', new Uint8Array(1)], bytes: 1 }),
    nothing: () => undefined,
  },
  maxSessions: undefined,
})
openaiChat({ baseURL: 'http://x/s/1/answer/v1', model: 'm', fetch: provider.fetch })
toNodeListener((request) => provider.handle(request))
defineTool(sampleTools().list_files)
defineTool(sampleTools().read_file)
// @ts-expect-error a script returns an entry
scriptedProvider({ scripts: { text: () => 'High tide' } })
openHistory({ dialect: 'gemini', conversationId: TENANT })

// A callback may declare narrower parameters, as those of a method may.
interface Message {
  role: string
}
type Started = Extract<TraceEvent, { type: 'tool_call' }>
createHandler({
  model,
  store: redisStore(async () => 0),
  authorize: () => ({ tenant: 'a' }),
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
trimHistory(pinned, {
  dialect: 'openai-chat',
  maxBytes: 1,
  keep: (element) => element.pinned === true,
})

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
defineTool({
  description: 'd',
  // @ts-expect-error JSON Schema has no such type
  inputSchema: { type: 'objekt' },
})
defineTool({
  description: 'd',
  // @ts-expect-error nor here
  inputSchema: { type: 'object', properties: { tags: { type: 'array', items: { type: 'text' } } } },
})
// @ts-expect-error wrong, too
defineTool({ description: 'd', inputSchema: { properties: { path: { type: ['string', 'nul'] } } } })
// @ts-expect-error wrong, too
defineTool({ description: 'd', inputSchema: { anyOf: [{ type: 'string' }, { type: 'nul' }] } })
// @ts-expect-error wrong, too
defineTool({ description: 'd', inputSchema: { prefixItems: [{ type: 'strng' }] } })
// @ts-expect-error wrong, too
defineTool({ description: 'd', inputSchema: { patternProperties: { a: { type: 'strng' } } } })
// @ts-expect-error wrong, too
defineTool({ description: 'd', inputSchema: { if: { not: { type: 'strng' } } } })
// @ts-expect-error wrong, too
defineTool({ description: 'd', inputSchema: { type: 3 } })
// @ts-expect-error wrong, too
defineTool({ description: 'd', inputSchema: { type: null } })
/** What is taken: types of all kinds, a property called `type`, what stands elsewhere, what is no literal. */
const loose = { type: 'object', properties: { a: { type: 'strings' } }, required: ['b'] }
const anything: Record<string, unknown> = loose
for (const inputSchema of [loose, anything]) defineTool({ description: 'd', inputSchema })
const ofOptions = <S extends JsonSchema | StandardSchema, R>(options: ToolOptions<S, R>) =>
  defineTool({ ...options, readOnly: true })
const ofSchema = <const S extends JsonSchema>(inputSchema: S, run: (args: unknown) => string) =>
  defineTool({ description: 'd', inputSchema, execute: (args) => run(args) })
const ofZod = <S extends z.ZodType>(inputSchema: S) => defineTool({ description: 'd', inputSchema })
const ofObject = <S extends z.ZodObject>(inputSchema: S) =>
  defineTool({ description: 'd', inputSchema })
const ofStandard = <S extends StandardSchema>(inputSchema: S) =>
  defineTool({ description: 'd', inputSchema })
const within = <S extends JsonSchema, P extends Record<string, JsonSchema>>(payload: S, own: P) => [
  defineTool({
    description: 'd',
    inputSchema: { type: 'object', properties: { payload }, required: ['payload'] },
  }),
  defineTool({ description: 'd', inputSchema: { type: 'object', properties: own, required: [] } }),
]
ofOptions({ description: 'd', inputSchema: loose })
ofSchema({ type: 'object', properties: { a: {} }, required: ['a'] }, () => '')
for (const one of [ofZod, ofObject, ofStandard, within]) void one
/** As the SDK of MCP has it. */
declare const remote: {
  [keyword: string]: unknown
  type: 'object'
  properties?: { [name: string]: object } | undefined
  required?: string[] | undefined
}
defineTool({ description: 'd', inputSchema: remote })
defineTool({
  description: 'd',
  inputSchema: { type: 'object', properties: undefined, required: undefined },
})
enum Types {
  Object = 'object',
  Text = 'string',
}
defineTool({
  description: 'd',
  inputSchema: {
    type: Types.Object,
    properties: { 1: { type: Types.Text }, not: { type: 'string' } },
    required: ['1'],
    not: { properties: { not: { const: 'x' } }, required: ['1', 'not', 'more'] },
    $defs: { part: { properties: { a: {} }, required: ['a', 'b'] } },
  },
})
declare const free: Record<string, unknown>
declare const item: unknown
/** As the SDK of Anthropic has it. */
declare const input: { type: 'object'; properties?: unknown; required?: string[] | null }
defineTool({ description: 'd', inputSchema: input })
defineTool({
  description: 'd',
  inputSchema: {
    type: 'object',
    properties: { a: item, list: { type: 'array', items: item, anyOf: [item] }, ...free },
    $defs: free,
    additionalProperties: item,
  },
})
const ofNames = <const P extends Record<string, JsonSchema>, const K extends readonly (keyof P)[]>(
  properties: P,
  required: K,
) => defineTool({ description: 'd', inputSchema: { type: 'object', properties, required } })
ofNames({ a: { type: 'string' } }, ['a'])
declare const either: { type: 'object' } | { readonly type: 'array' }
defineTool({ description: 'd', inputSchema: either })
defineTool({
  description: 'd',
  inputSchema: {
    type: 'object',
    properties: {
      type: { enum: ['objekt'] },
      properties: { type: ['string', 'null'], default: { type: 'objekt' } },
      list: { type: 'array', items: { $ref: '#/$defs/one' }, examples: [{ type: 'objekt' }] },
    },
    required: ['type', 'list'],
    additionalProperties: false,
    $defs: { one: { anyOf: [{ type: 'integer' }, { const: { type: 'objekt' } }, true] } },
  },
})
defineTool({
  description: 'd',
  inputSchema: {
    type: 'object',
    properties: { a: {} },
    allOf: [{ properties: { b: { type: 'null' } } }],
    required: ['a', 'b'],
  },
})
// @ts-expect-error may be missing
defineTool({ description: 'd', inputSchema: typed, execute: ({ path }) => path.length })

const store = indexedDbStore()
const locate = defineTool({ description: 'where', inputSchema: { type: 'object' } })
const turns = remoteTurns({ url: '/api/chat', tools: { locate } })
/** What takes a turn takes one of a handler. */
const handled: Turn = turns.run({ messages: [] })
const chat: Chat = createChat({ turns, conversationId: TENANT, throttleMs: undefined })
const local: ChatOptions = {
  turns: {
    run: (own) => runTurn({ model, ...own }),
    resume: (own) => resumeTurn({ model, store, ...own }),
  },
}
export function Component() {
  const { messages, approvals, status, error, send } = useTurn(TENANT ? chat : local)
  const sent: boolean = send({ role: 'user', content: 'go' })
  const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'call'))
  return [sent, calls[0]?.result?.status, approvals[0]?.signature, status === 'paused', error?.code]
}
export async function answered(paused: PausedTurn) {
  const { granted } = await claimCalls({ ...paused.resume, store, toolCallIds: ['c'] })
  const outcomes = granted.map((toolCallId) => ({ toolCallId, result: 1 }))
  const turn = await turns.answer(paused)
  return turn ?? resumeTurn({ ...paused.resume, model, store, outcomes })
}

// The type of the answer is that of its schema.
const inJson = runTurn({
  model,
  messages,
  system: 'Be brief.',
  answerSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city'],
  },
})
void inJson.result.then(({ object }) => {
  const city: string | undefined = object?.city
  const days: number | undefined = object?.days
  // @ts-expect-error: it has no such member
  return [city, days, object?.town]
})
void inJson.result.then((result) => {
  const city: string | undefined = result.status === 'complete' ? result.object.city : undefined
  // @ts-expect-error: a turn that is not complete has none
  return [city, result.status === 'failed' ? result.object.city : result.error]
})
void runTurn({ model, messages }).result.then(({ object }) => {
  const any: unknown = object
  return any
})
const listsTurns = async () => {
  const [open] = await remoteTurns({ url: '/api/chat' }).list({ conversationId: 'c' })
  const status: 'running' | 'paused' | 'failed' | undefined = open?.status
  return [status, await listTurns({ store: indexedDbStore(), tenant: TENANT ?? '' })]
}
void listsTurns
void createHandler({
  model,
  store: indexedDbStore(),
  authorize: () => ({ tenant: 't' }),
  system: (request, { tenant }) => `${request.url} ${tenant}`,
  answerSchema: { type: 'object' },
})
const chunks = async () => {
  for await (const chunk of inJson.textStream) chunk.trim()
}
void chunks

// What a tool returns is known where its call went well; what another status has is anything.
const day = defineTool({
  description: 'The day.',
  inputSchema: { type: 'object', properties: { of: { type: 'string' } }, required: ['of'] },
  execute: async ({ of }) => ({
    of,
    at: new Date(),
    note: undefined,
    count: 3 as number | undefined,
  }),
})
const told = defineTool({
  description: 'Progress, then a number.',
  inputSchema: { type: 'object' },
  async *execute() {
    yield 'half'
    return 7
  },
})
const shown = defineTool({ description: 'Nothing.', inputSchema: {}, execute: () => {} })
void runTurn({ model, messages, tools: { day, told, shown } }).result.then(({ toolResults }) => {
  for (const result of toolResults) {
    if (result.status !== 'ok' || result.truncated) {
      const any: unknown = result.result
      return any
    }
    if (result.name === 'day') {
      const at: string = result.result.at
      // @ts-expect-error: JSON has no dates
      const date: Date = result.result.at
      // @ts-expect-error: JSON has no `undefined`
      const { note } = result.result
      // @ts-expect-error: it may be missing
      result.result.count.toFixed()
      return [at, date, note]
    }
    if (result.name === 'told') return result.result.toFixed()
    const none: null = result.result
    return none
  }
  // @ts-expect-error: there is no such tool, but a model may ask for one
  return toolResults.map((one) => (one.name === 'other' ? one.result.x : one.status))
})
const some: Record<string, Tool> = { day }
void runTurn({ model, messages, tools: some }).result.then(({ toolResults }) => {
  const any: unknown = toolResults[0]?.result
  return any
})
// A turn goes on with what a resume returns.
const goesOn = async (decide: (calls: unknown) => Promise<Approval[]>) => {
  const tools = { day, told }
  let result = await runTurn({ model, messages, tools, store }).result
  while (result.status === 'paused') {
    const [requestId, approvals] = [result.resume.requestId, await decide(result.approvals)]
    result = await resumeTurn({ requestId, model, tools, store, approvals }).result
  }
  let turn = runTurn({ model, messages, tools, store })
  turn = resumeTurn({ requestId: turn.requestId, model, tools, store })
  const answerSchema = {
    type: 'object',
    properties: { n: { type: 'number' } },
    required: ['n'],
  } as const
  const last = await resumeTurn({ requestId: 'r', model, tools, store, answerSchema }).result
  return last.status === 'complete' ? last.object.n.toFixed() : turn
}
void goesOn
// What a converter returns has an interface.
interface Converted {
  type?: 'object'
}
const converted: Converted = { type: 'object' }
const standardTool = defineTool({
  description: 'Converted.',
  jsonSchema: converted,
  execute: () => 1,
  inputSchema: {
    '~standard': { version: 1, vendor: 'v', validate: (value: unknown) => ({ value }) },
  },
})
void standardTool
const anyTurn: Turn = runTurn({ model, messages, tools: { day } })
const anyJson: Turn = inJson
const anyResult = async (): Promise<TurnResult> => (await anyTurn.result) ?? inJson.result
void [anyTurn, anyJson, anyResult]
