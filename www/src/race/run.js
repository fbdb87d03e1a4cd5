// Both sides of the race: the same scripted model, message and tools. Each gives its steps in order
// and what they come to.
import { defineTool, openaiChat, runTurn, signature } from 'turnlock'
import { createSessions } from 'scripted-model'
import { LIST_FILES, READ_FILE } from '../files.js'
import { plainLoop } from './plain.js'

export const TOOLS = { list_files: LIST_FILES, read_file: READ_FILE }
const DEFINED = Object.fromEntries(
  Object.entries(TOOLS).map(([name, options]) => [name, defineTool(options)]),
)
export const MESSAGES = [{ role: 'user', content: 'What is in my files?' }]

/** The scripted model inside this page: a `fetch`, its address, and the bytes that it was sent. */
export function scripted(behaviour) {
  const sessions = createSessions()
  const model = {
    baseURL: `${location.origin}/s/race/${behaviour}/v1`,
    bytes: 0,
    onRequest: (_body) => {},
    async fetch(url, init) {
      // What was shown before this request comes before it.
      await new Promise((resolve) => setTimeout(resolve))
      const body = typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body)
      model.bytes += new TextEncoder().encode(body).length
      model.onRequest(JSON.parse(body))
      return sessions.answer(new Request(url, { method: 'POST', body, signal: init.signal }))
    },
  }
  return model
}

/** What the steps come to. */
export function sum(steps, bytes) {
  const of = (...kinds) => steps.filter(({ kind }) => kinds.includes(kind)).length
  const answer = steps.find(({ kind }) => kind === 'answer')
  const numbers = { models: of('model'), runs: of('run', 'again'), repeats: of('again') }
  return { steps, ...numbers, refused: of('refused'), bytes, answer: answer?.text ?? '' }
}

/**
 * A loop without a judge.
 * @param {{ cap: number, fetch: typeof fetch, baseURL: string, told?: (steps: object[]) => void }} options
 *   `told` hears the steps so far, before each step is added
 */
export async function loop({ cap, fetch, baseURL, told = () => {} }) {
  const [steps, ran] = [[], new Set()]
  const tell = (step) => {
    told(steps)
    if (step.kind === 'run') {
      const signed = signature({ tool: step.name, args: step.args })
      if (ran.has(signed)) step.kind = 'again'
      ran.add(signed)
    }
    steps.push(step)
  }
  const url = `${baseURL}/chat/completions`
  try {
    await plainLoop({ fetch, url, tools: TOOLS, messages: MESSAGES, cap, tell })
  } catch (error) {
    tell({ kind: 'lost', error: String(error) })
  }
  return steps
}

/** The loop, at the model itself. */
export async function runPlain(behaviour, cap) {
  const model = scripted(behaviour)
  const { fetch, baseURL } = model
  return sum(await loop({ cap, fetch, baseURL }), model.bytes)
}

/** A two-stage turn. */
export async function runStaged(behaviour, maxTools) {
  const model = scripted(behaviour)
  const steps = []
  let phase
  model.onRequest = (request) => steps.push({ kind: 'model', phase, request })
  const turn = runTurn({
    model: openaiChat({ baseURL: model.baseURL, model: 'scripted', fetch: model.fetch }),
    messages: MESSAGES,
    tools: DEFINED,
    policy: { maxTools },
  })
  for await (const event of turn) {
    if (event.type === 'phase_start') phase = event.phase
    for (const { name, args, result } of event.toolResults ?? []) {
      steps.push({ kind: 'run', phase, name, args, result })
    }
    if (event.type === 'refused') {
      const { reason, notice, toolCalls } = event
      for (const { name, args } of toolCalls) {
        steps.push({ kind: 'refused', phase, name, args, reason, notice })
      }
    }
  }
  const { text, status, error } = await turn.result
  if (text) steps.push({ kind: 'answer', phase, text })
  else steps.push({ kind: 'lost', phase, error: error?.message ?? status })
  return sum(steps, model.bytes)
}

/** The code of the side that ends. */
export const codeOf = (maxTools) => `import { defineTool, openaiChat, runTurn } from 'turnlock'

const list_files = defineTool({
  description: '${LIST_FILES.description}',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  readOnly: true,
  execute: ({ path }) => listFiles(path),
})
const turn = runTurn({
  model: openaiChat({ baseURL: '/api/v1', model: 'your-model' }),
  messages: [{ role: 'user', content: '${MESSAGES[0].content}' }],
  tools: { list_files },${maxTools === 1 ? '' : `\n  policy: { maxTools: ${maxTools} },`}
})
for await (const event of turn) if (event.type === 'text') show(event.chunk)
const { blockedSignatures } = await turn.result // what was asked for again, and did not run`
