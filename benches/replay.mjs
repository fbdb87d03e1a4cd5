// How often a client's tool is executed when its turn's stream is read again: `ai` beside
// turnlock, one tool call, N reconnects or N page reloads. npm run bench -- replay
//
// Both ask the same scripted provider. `ai` is set up as its documentation says
// (docs/04-ai-sdk-ui: 03-chatbot-resume-streams, 03-chatbot-tool-usage, 21-transport): a route
// with `streamText` whose stream is kept and played again from its beginning, as
// `resumable-stream` does; a chat with `DefaultChatTransport`, `onToolCall` and `addToolOutput`
// (not awaited). The reconnects come while the stream is active, behind the call. Where it
// documents options that bear on it, each is a line of its own.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { AbstractChat, DefaultChatTransport, streamText, tool } from 'ai'
import { readFileSync } from 'node:fs'
import { defineTool, followTurn, memoryStore, openaiChat, resumeTurn, runTurn } from 'turnlock'
import { z } from 'zod'
import { createProvider } from '../tests/provider/server.mjs'

const TIMES = [0, 1, 2, 5, 10]
const QUESTION = 'What is in my files?'
const provider = await createProvider()
let sessions = 0
const baseURL = () => `${provider.url}/s/replay-${sessions++}/one-call/v1`
/** Long enough for everything that is under way to come to rest. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 150))
const until = async (is) => {
  while (!is()) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** The state that `@ai-sdk/react` keeps, without React. */
class State {
  status = 'ready'
  error = undefined
  constructor(messages) {
    this.messages = messages
  }
  pushMessage = (message) => (this.messages = [...this.messages, message])
  popMessage = () => (this.messages = this.messages.slice(0, -1))
  replaceMessage = (at, message) => (this.messages = this.messages.with(at, message))
  snapshot = (thing) => structuredClone(thing)
}
class Chat extends AbstractChat {
  constructor({ messages = [], ...init }) {
    super({ ...init, state: new State(messages) })
  }
}

/**
 * The route of an app. POST runs the model and keeps what is streamed; GET plays that again from
 * the beginning (or, asked so, only what the client lacks), and goes on with it. The end of the
 * stream is held back: it is active until `finish`.
 */
function route() {
  const kept = []
  let finish
  const active = new Promise((resolve) => (finish = resolve))
  const from = (at) =>
    new ReadableStream({
      async start(controller) {
        for (let n = at; n < kept.length; n++) controller.enqueue(kept[n])
        await active
        controller.close()
      },
    })
  const headers = { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' }
  const fetch = async (address, { method = 'GET' } = {}) => {
    if (method !== 'POST') {
      const lacks = new URL(address).searchParams.get('from') === 'end' ? kept.length : 0
      return new Response(from(lacks), { headers })
    }
    const model = createOpenAICompatible({ name: 'scripted', baseURL: baseURL() })('model')
    const inputSchema = z.object({ path: z.string(), recursive: z.boolean() })
    const tools = { list_files: tool({ description: 'Lists files.', inputSchema }) }
    const result = streamText({ model, tools, prompt: QUESTION })
    const reader = result.toUIMessageStreamResponse().body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      kept.push(value)
      if (new TextDecoder().decode(value).includes('tool-input-available')) break
    }
    return new Response(from(0), { headers })
  }
  return { fetch, finish }
}

/** One chat; `again` is done N times behind the call. Gives the executions of its tool. */
async function aiChat(times, { reload = false, late = false, continues = false }) {
  const { fetch, finish } = route()
  let executed = 0
  const outputs = []
  const open = (messages) => {
    const chat = new Chat({
      id: 'chat',
      messages,
      transport: new DefaultChatTransport({
        api: 'http://app.test/api/chat',
        fetch,
        ...(continues && {
          resumeStreamIsReplay: false,
          prepareReconnectToStreamRequest: ({ api, id }) => ({
            api: `${api}/${id}/stream?from=end`,
          }),
        }),
      }),
      onToolCall({ toolCall }) {
        executed++
        const { toolCallId } = toolCall
        const add = () => chat.addToolOutput({ tool: 'list_files', toolCallId, output: ['a.txt'] })
        if (late) outputs.push(add)
        else add()
      },
    })
    return chat
  }
  let chat = open([])
  chat.sendMessage({ text: QUESTION })
  await until(() => executed)
  await settled()
  for (let n = 0; n < times; n++) {
    // A page that is loaded again has the messages that the app keeps: the user's.
    if (reload) chat = open([chat.messages[0]])
    chat.resumeStream()
    await settled()
  }
  for (const add of outputs) add()
  finish()
  await settled()
  return executed
}

const messages = [{ role: 'user', content: QUESTION }]

/** One turn of turnlock; its answer is held back until all have come again. */
async function turn(times, again) {
  let executed = 0
  let now = 0
  let finish
  const held = new Promise((resolve) => (finish = resolve))
  const store = memoryStore({ now: () => now })
  const tools = {
    list_files: defineTool({
      description: 'Lists files.',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
      execute: () => (executed++, ['a.txt']),
    }),
  }
  let asked = 0
  const url = baseURL()
  // Behind the call, no request is answered before the end.
  const fetch = async (...request) => {
    if (asked++) await held
    return globalThis.fetch(...request)
  }
  const model = openaiChat({ baseURL: url, model: 'model', fetch })
  const parts = { model, tools, store, requestId: 'r' }
  runTurn({ ...parts, messages })
  await until(() => executed)
  await settled()
  const seen = []
  for (let n = 0; n < times; n++) {
    seen.push(await again({ parts, store, later: (ms) => (now += ms) }))
    await settled()
  }
  finish()
  const events = await read(followTurn({ store, requestId: 'r' }))
  if (events.at(-1).type !== 'complete') throw new Error(`ended with ${events.at(-1).code}`)
  for (const reader of seen) {
    const others = await reader?.()
    if (others && JSON.stringify(others) !== JSON.stringify(events)) throw new Error('other events')
  }
  return executed
}

async function read(events) {
  const all = []
  for await (const event of events) all.push(event)
  return all
}

const SUBJECTS = {
  '`ai`: `resumeStream()`': (n) => aiChat(n, {}),
  '`ai`: the same, the output is added after the reconnects': (n) => aiChat(n, { late: true }),
  '`ai`: page reloaded, `resumeStream()`': (n) => aiChat(n, { reload: true }),
  '`ai`: `resumeStreamIsReplay: false`, a route that knows what the client has, no reload': (n) =>
    aiChat(n, { continues: true }),
  'turnlock: `followTurn` from the beginning': (n) =>
    turn(n, async ({ store }) => {
      const all = read(followTurn({ store, requestId: 'r' }))
      return () => all
    }),
  'turnlock: `resumeTurn` while the turn runs': (n) =>
    turn(n, async ({ parts }) => {
      const { error } = await resumeTurn(parts).result
      if (error?.code !== 'turn.conflict') throw new Error(`not refused: ${error?.code}`)
    }),
  'turnlock: page reloaded, `resumeTurn`': (n) =>
    turn(n, async ({ parts, later }) => {
      // The page before is gone: nothing has been heard of it for its lease.
      later(20_000)
      resumeTurn(parts)
    }),
}

const { version } = JSON.parse(
  readFileSync(new URL('../node_modules/ai/package.json', import.meta.url), 'utf8'),
)
const line = (cells) => `| ${cells.join(' | ')} |`
console.log(line(['executions of one call', ...TIMES.map((n) => `N = ${n}`)]))
console.log(line(['---', ...TIMES.map(() => '---')]))
for (const [name, subject] of Object.entries(SUBJECTS)) {
  const counts = []
  for (const times of TIMES) counts.push(await subject(times))
  console.log(line([name, ...counts]))
}
console.log(`\n\`ai\` ${version}, Node ${process.versions.node}`)
await provider.close()
process.exit()
