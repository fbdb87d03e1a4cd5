// Inputs beyond every limit, in any runtime: each case tells what came of them.
import {
  canonicalize,
  customModel,
  defineTool,
  diagnoseHistory,
  memoryStore,
  normalizeHistory,
  openaiChat,
  runTurn,
} from 'turnlock'
import { runBundle } from 'turnlock/evidence'
import { memories } from './memories.mjs'
import { createProxy } from 'turnlock/proxy'
import { createHandler } from 'turnlock/server'

const messages = [{ role: 'user', content: 'go' }]
const nested = (depth) => '['.repeat(depth) + ']'.repeat(depth)

/** A model that answers with a stream of streams.mjs. */
const modelOn = (url, stream) =>
  openaiChat({ baseURL: `${url}/${stream}/v1`, model: 'm', apiKey: 'k', maxRetries: 0 })

/** Runs a turn on a stream. */
async function turnOn(url, stream, more) {
  const model = modelOn(url, stream)
  const { status, error, text } = await runTurn({ model, messages, ...more }).result
  return { status, ...(error ? { code: error.code } : { text }) }
}

/** A turn on a stream; the largest memory that there is when it has ended. */
async function longest(url, stream) {
  const turn = runTurn({ model: modelOn(url, stream), messages })
  let held
  for await (const { type } of turn) if (type === 'text') held ??= memories()
  const { status, text } = await turn.result
  const largest = Math.max(...held.map(({ buffer }) => buffer.byteLength))
  return { status, characters: text.length, largest }
}

/** A tool that counts its calls. */
function looking() {
  const counted = { runs: 0 }
  const look = defineTool({ inputSchema: { type: 'object' }, execute: () => ++counted.runs })
  return { tools: { look }, counted }
}

const refusal = (work) => {
  try {
    work()
    return 'nothing was thrown'
  } catch (error) {
    return error.name === 'TurnlockError' ? error.code : String(error)
  }
}

const text = (n) => ({ role: n % 2 ? 'assistant' : 'user', content: `message number ${n}` })
const called = (n) =>
  n % 2
    ? { role: 'tool', tool_call_id: `c${n - 1}`, content: `result number ${n}` }
    : {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: `c${n}`, type: 'function', function: { name: 'f', arguments: '{}' } }],
      }
const many = (make) => [...Array.from({ length: 100_000 }, (_, n) => make(n)), text(0)]

const CASES = {
  'one-event': (url) => turnOn(url, 'one-event'),
  gigabyte: (url) => turnOn(url, 'gigabyte'),
  'longest-prose': (url) => longest(url, 'longest-prose'),
  'longest-quotes': (url) => longest(url, 'longest-quotes'),
  tiny: (url) => turnOn(url, 'tiny'),
  comments: (url) => turnOn(url, 'comments'),

  async nested(url) {
    const bomb = nested(200_000)
    const { tools, counted } = looking()
    const content = JSON.parse(bomb)
    return {
      event: await turnOn(url, 'nested-event'),
      arguments: await turnOn(url, 'nested-arguments', { tools }),
      runs: counted.runs,
      canonicalize: refusal(() => canonicalize(bomb)),
      diagnose: refusal(() =>
        diagnoseHistory([{ role: 'user', content }], { dialect: 'anthropic' }),
      ),
    }
  },

  async calls(url) {
    const { tools, counted } = looking()
    const policy = { readMode: 'batch', maxTools: 2 }
    const { status } = await turnOn(url, 'calls', { tools, policy })
    return { status, runs: counted.runs }
  },

  async messages(url) {
    const convert = (dialect) => refusal(() => normalizeHistory(many(called), { dialect }))
    return {
      plain: await turnOn(url, 'answer', { messages: many(text) }),
      called: await turnOn(url, 'answer', { messages: many(called) }),
      // What converts them keeps them all in the core's memory.
      converted: ['openai-chat', 'anthropic'].map(convert),
    }
  },

  async fields() {
    const data = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`f${n}`, n]))
    const replicate = async () => ({ data })
    const { summary } = await runBundle({ task: 't', replicate }).result
    return { confidence: summary.confidence }
  },

  async bodies() {
    const bomb = nested(400_000)
    const model = customModel(async function* () {
      yield { type: 'text', text: 'so' }
    })
    const authorize = () => ({ tenant: 't' })
    const limits = { bodyBytes: 4 * 2 ** 20 }
    const handler = createHandler({ model, store: memoryStore(), authorize, limits })
    const post = (url, body) =>
      new Request(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const told = async (response) => ({ status: response.status, text: await response.text() })
    const ofHandler = []
    for (const body of [
      bomb,
      `{"messages":${bomb}}`,
      `{"messages":[{"role":"user","content":${bomb}}]}`,
    ]) {
      const request = post('https://edge.example/api/chat/messages', body)
      ofHandler.push(await told(await handler(request)))
    }
    const ofProxy = []
    for (const mode of ['observe', 'repair', 'bound']) {
      const proxy = createProxy({
        upstream: 'https://provider.example',
        authorize,
        mode,
        fetch: async () => new Response(`data: {"choices":[{"delta":{"tool_calls":${bomb}}}]}\n\n`),
      })
      for (const path of ['chat/completions', 'messages', 'responses']) {
        const name = path === 'responses' ? 'input' : 'messages'
        const body = `{"model":"m","tools":[{}],"${name}":[{"role":"user","content":${bomb}}]}`
        const response = await proxy(post(`https://edge.example/v1/${path}`, body))
        const { status, text } = await told(response)
        ofProxy.push({ mode, path, status, passed: text.includes('tool_calls') })
      }
    }
    return { handler: ofHandler, proxy: ofProxy }
  },
}

/** Another turn that is under way meanwhile. */
function neighbour() {
  let go
  const gate = new Promise((resolve) => (go = resolve))
  const model = customModel(async function* () {
    yield { type: 'text', text: 'I ' }
    await gate
    yield { type: 'text', text: 'am fine.' }
  })
  const turn = runTurn({ model, messages })
  return async () => {
    go()
    return (await turn.result).text
  }
}

/** What came of a case, of a turn beside it, and of a call behind it. */
export async function play(name, url) {
  const over = neighbour()
  const told = await CASES[name](url)
  return { told, neighbour: await over(), behind: canonicalize('{ "b":1,"a":2}') }
}
