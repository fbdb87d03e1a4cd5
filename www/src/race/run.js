// Both sides of the race: the same scripted model, message and tools. Each gives its steps in order
// and what they come to.
import { defineTool, openaiChat, runTurn, signature } from 'turnlock'
import { sampleTools, scriptedProvider } from 'turnlock/testing'
import { Log } from '../dock/log.js'
import { checked } from '../endpoint.js'
import { ownTools, resultOf } from '../own-tools.js'
import { byId } from '../dom.js'
import { declared } from '../files.js'
import { plainLoop } from './plain.js'

const TOOLS = sampleTools()
const MESSAGES = [{ role: 'user', content: 'What is in my files?' }]

/** The scripted model inside this page: a `fetch`, its address, and the bytes that it was sent. */
export function scripted(behaviour) {
  const provider = scriptedProvider()
  const model = {
    baseURL: `${location.origin}/s/race/${behaviour}/v1`,
    name: 'scripted',
    bytes: 0,
    onRequest: (_body) => {},
    async fetch(url, init) {
      // What was shown before this request comes before it.
      await new Promise((resolve) => setTimeout(resolve))
      const body = typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body)
      model.bytes += new TextEncoder().encode(body).length
      model.onRequest(JSON.parse(body))
      return provider.fetch(url, { method: 'POST', body, signal: init.signal })
    },
  }
  return model
}

/**
 * The endpoint of the form of "One turn", which both sides ask: OpenAI's wire, the message that stands
 * there, and the visitor's own tools.
 * @throws Error in words for the page
 */
function real() {
  const value = (id) => byId(id).value.trim()
  const baseURL = checked(value('baseURL')).replace(/\/+$/, '')
  const key = value('apiKey')
  const model = {
    baseURL,
    name: value('model'),
    key,
    bytes: 0,
    onRequest: (_body) => {},
    headers: { 'content-type': 'application/json', ...(key && { authorization: `Bearer ${key}` }) },
    fetch(url, init) {
      const body = typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body)
      model.bytes += new TextEncoder().encode(body).length
      model.onRequest(JSON.parse(body))
      return fetch(url, init)
    },
  }
  return model
}

/** What both sides run: `{ model, tools, messages }`, made anew for each side. */
function setting(behaviour) {
  if (behaviour !== 'real') return { model: scripted(behaviour), tools: TOOLS, messages: MESSAGES }
  const visitorTools = Object.entries(ownTools() ?? {}).map(([name, { results, ...options }]) => {
    let nth = 0
    return [name, { ...options, execute: () => resultOf({ results }, nth++) }]
  })
  const messages = [{ role: 'user', content: byId('prompt').value }]
  return {
    model: real(),
    tools: visitorTools.length ? Object.fromEntries(visitorTools) : TOOLS,
    messages,
  }
}

/** What the steps come to. */
export function sum(steps, bytes) {
  const of = (...kinds) => steps.filter(({ kind }) => kinds.includes(kind)).length
  const answer = steps.find(({ kind }) => kind === 'answer')
  const numbers = { models: of('model'), runs: of('run', 'again'), repeats: of('again') }
  return { steps, ...numbers, refused: of('refused'), bytes, answer: answer?.text ?? '' }
}

/**
 * A loop without a judge: its steps.
 * @param {{ model: object, cap: number, tools?: object, messages?: object[], signal?: AbortSignal,
 *   before?: (steps: object[]) => void, onStep?: (steps: object[]) => void }} options `before` and
 *   `onStep` hear the steps so far, before and behind each new one
 */
export async function loop({ model, cap, signal, ...given }) {
  const { tools = TOOLS, messages = MESSAGES, before = () => {}, onStep = () => {} } = given
  const [steps, ran] = [[], new Set()]
  const addStep = (step) => {
    before(steps)
    if (step.kind === 'run') {
      const signed = signature({ tool: step.name, args: step.args })
      if (ran.has(signed)) step.kind = 'again'
      ran.add(signed)
    }
    steps.push(step)
    onStep(steps)
  }
  const url = `${model.baseURL}/chat/completions`
  try {
    const { fetch, headers, name } = model
    await plainLoop({
      fetch,
      url,
      headers,
      model: name,
      tools,
      messages,
      cap,
      signal,
      tell: addStep,
    })
  } catch (error) {
    addStep({ kind: 'lost', error: String(error) })
  }
  return steps
}

/** The loop, at the model itself. */
export async function runPlain(behaviour, cap, { signal, onStep = () => {} } = {}) {
  const { model, tools, messages } = setting(behaviour)
  const all = (steps) => sum(steps, model.bytes)
  const reportSteps = (steps) => onStep(all(steps))
  return all(await loop({ model, tools, messages, cap, signal, onStep: reportSteps }))
}

/** A two-stage turn. */
export async function runStaged(behaviour, maxTools, { signal, onStep = () => {} } = {}) {
  const { model, tools, messages } = setting(behaviour)
  const steps = []
  let phase
  const log = new Log()
  const step = (one) => {
    steps.push(one)
    onStep(sum(steps, model.bytes))
  }
  model.onRequest = (request) => step({ kind: 'model', phase, request })
  const policy = { maxTools }
  log.turn = {
    wire: 'openai-chat',
    mode: 'two_stage',
    messages,
    policy,
    tools: declared(tools),
  }
  const fetch = log.recording(model.fetch)
  const turn = runTurn({
    model: openaiChat({
      baseURL: model.baseURL,
      model: model.name,
      fetch,
      ...(model.key && { apiKey: model.key }),
    }),
    messages,
    policy,
    tools: Object.fromEntries(
      // Nobody is asked in a race.
      Object.entries(tools).map(([name, { needsApproval: _, ...options }]) => [
        name,
        defineTool(options),
      ]),
    ),
  })
  signal?.addEventListener('abort', () => turn.cancel('another race begins'))
  for await (const event of turn) {
    log.add(event)
    if (event.type === 'phase_start') phase = event.phase
    for (const { name, args, result } of event.toolResults ?? []) {
      step({ kind: 'run', phase, name, args, result })
    }
    if (event.type === 'refused') {
      const { reason, notice, toolCalls } = event
      for (const { name, args } of toolCalls) {
        step({ kind: 'refused', phase, name, args, reason, notice })
      }
    }
  }
  const { text, status, error } = await turn.result
  if (text) step({ kind: 'answer', phase, text })
  else step({ kind: 'lost', phase, error: error?.message ?? status })
  return { ...sum(steps, model.bytes), log }
}

/** What the code names: the tools, the message and the model of this run. */
function named(behaviour) {
  const listed = { tools: { list_files: TOOLS.list_files }, message: MESSAGES[0].content }
  if (behaviour !== 'real') return { ...listed, model: 'your-model' }
  let visitorTools
  try {
    visitorTools = ownTools()
  } catch {
    // It is said at the field.
  }
  const model = byId('model').value.trim() || 'your-model'
  return { tools: visitorTools ?? TOOLS, message: byId('prompt').value, model }
}

const toolCode = ([
  name,
  { description, inputSchema, readOnly },
]) => `  ${JSON.stringify(name)}: defineTool({
    description: ${JSON.stringify(description)},
    inputSchema: ${JSON.stringify(inputSchema)},${readOnly ? '\n    readOnly: true,' : ''}
    execute: (args) => yours(${JSON.stringify(name)}, args),
  }),
`

/** The code of the side that ends, as it ran. */
export function codeOf(maxTools, behaviour) {
  const { tools, message, model } = named(behaviour)
  return `import { defineTool, openaiChat, runTurn } from 'turnlock'

const tools = {
${Object.entries(tools).map(toolCode).join('')}}
const turn = runTurn({
  model: openaiChat({ baseURL: '/api/v1', model: ${JSON.stringify(model)} }),
  messages: [{ role: 'user', content: ${JSON.stringify(message)} }],
  tools,${maxTools === 1 ? '' : `\n  policy: { maxTools: ${maxTools} },`}
})
for await (const event of turn) if (event.type === 'text') show(event.chunk)
// What was asked for again, and did not run:
const { blockedSignatures } = await turn.result`
}
