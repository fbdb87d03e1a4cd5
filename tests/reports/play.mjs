// Plays public reports through the built package and returns what can be observed; Node compares it
// with what the report expects (expectations.mjs). Web standards only: it runs in Node, workerd and
// Chromium. README.md has the form of a report.
import { modelOf } from '../lanes.mjs'

/** @param {{ turnlock: any, url: string, runtime: string }} host */
export async function playAll(host, reports) {
  const observations = []
  for (const report of reports) {
    observations.push([report.name, await observe(host, report).catch(observedError)])
  }
  return { passed: 0, failed: 0, failures: [], observations }
}

const OBSERVERS = {
  history: observeHistory,
  stream: observeStream,
  turn: observeTurn,
  call: observeCall,
}

async function observe(host, report) {
  const observation = await OBSERVERS[report.kind](host, report)
  // As JSON, which is what crosses from a worker or a page.
  return JSON.parse(JSON.stringify(observation))
}

const observedError = (error) => ({
  error: error?.code ?? error?.name ?? String(error),
  message: error?.message,
  details: error?.details,
})

/** Runs an exported function: `result`, or `error` with `message`. */
async function observeCall({ turnlock }, { call, args }) {
  const callee = call.split('.').reduce((value, name) => value?.[name], turnlock)
  if (typeof callee !== 'function') throw new Error(`turnlock has no function ${call}`)
  return { result: (await callee(...args)) ?? null }
}

const violationsOf = ({ diagnoseHistory }, messages, dialect) => {
  try {
    return diagnoseHistory(messages, { dialect }).map(({ code, index }) => `${code}@${index}`)
  } catch (error) {
    return [`THROW ${error.code}`]
  }
}

/** `d` the violations of the input, `o` those of the output, `j` the output as a text. */
function observeHistory({ turnlock }, { dialect, input, options }) {
  const d = violationsOf(turnlock, input, dialect)
  try {
    const { messages, system, repairs } = turnlock.normalizeHistory(input, { dialect, ...options })
    return {
      messages,
      system,
      repairs: repairs.map(({ code, action }) => `${code}:${action}`),
      d,
      o: violationsOf(turnlock, messages, dialect),
      j: JSON.stringify(messages),
    }
  } catch (error) {
    return { ...observedError(error), d, o: [], j: '', messages: [], repairs: [] }
  }
}

const bytesOf = ({ b64, text }) =>
  b64 ? Uint8Array.from(atob(b64), (byte) => byte.charCodeAt(0)) : new TextEncoder().encode(text)

function observeStream({ turnlock }, { dialect, input }) {
  const decoder = turnlock.decodeStream(dialect)
  const deltas = [...decoder.feed(bytesOf(input)), ...decoder.end()]
  const calls = new Map()
  for (const delta of deltas) {
    const { type, index } = delta
    if (type === 'tool_call_start') calls.set(index, { id: delta.id, name: delta.name, args: '' })
    if (type === 'tool_call_arguments') calls.get(index).args += delta.text
  }
  const ofType = (wanted) => deltas.filter(({ type }) => type === wanted)
  const textOf = (type) =>
    ofType(type)
      .map(({ text }) => text)
      .join('')
  return {
    deltas,
    text: textOf('text'),
    reasoning: textOf('reasoning'),
    signatures: ofType('reasoning').flatMap(({ signature }) => signature ?? []),
    calls: [...calls.values()],
    finish: ofType('finish').at(-1)?.reason,
    usage: ofType('usage').at(-1)?.usage,
    errors: ofType('error'),
  }
}

/** Plays one turn against the responses of the report, and another one if `input.next` is a message. */
async function observeTurn({ turnlock, url, runtime }, { name, dialect, input }) {
  const session = `${runtime}-report-${name}`
  const baseURL = `${url}/s/${session}/${encodeURIComponent(`report:${name}`)}/v1`
  const model = modelOf(turnlock, dialect, {
    baseURL,
    model: 'scripted',
    apiKey: 'secret',
    maxRetries: 0,
    ...input.modelOpts,
  })
  const messages = input.messages ?? [{ role: 'user', content: 'go' }]
  const ran = []
  const tools = Object.fromEntries(
    Object.entries(input.tools ?? { f: {} }).map(([toolName, tool]) => [
      toolName,
      turnlock.defineTool({
        description: toolName,
        inputSchema: tool.schema ?? { type: 'object', properties: { a: { type: 'number' } } },
        readOnly: tool.readOnly ?? true,
        execute(args) {
          ran.push({ name: toolName, args })
          return tool.result ?? { ok: true }
        },
      }),
    ]),
  )
  const play = async (history) => {
    const turn = turnlock.runTurn({
      model,
      messages: history,
      tools,
      ...(input.policy && { policy: input.policy }),
      ...input.options,
    })
    const events = []
    for await (const event of turn) events.push(event)
    return { events, result: await turn.result }
  }
  const requested = async () => {
    const response = await fetch(`${url}/s/${session}/requests`)
    return (await response.json()).map(({ body }) => body)
  }
  const { events, result } = await play(messages)
  const requests = await requested()
  const observation = {
    ran,
    requests,
    status: result.status,
    text: result.text,
    finishReason: result.finishReason,
    error: result.error?.code,
    errorMessage: result.error?.message,
    added: result.messages,
    repairs: result.repairs,
    usage: result.usage,
    events: events.map(({ type, reason }) => type + (reason ? `[${reason}]` : '')),
    refused: events.filter(({ type }) => type === 'refused').map(({ reason }) => reason),
    last: JSON.stringify(requests.at(-1)),
  }
  if (!input.next) return observation
  await play([...messages, ...result.messages, { role: 'user', content: input.next }])
  return { ...observation, nextRequest: (await requested())[requests.length] }
}
