// Plays the conversations against a provider and returns what crossed the wire, without secrets.
import { createRedactor } from 'turnlock/redact'
import { defineTool, providerModel, runTurn } from 'turnlock'
import { CONVERSATIONS, TOOLS } from './conversations.mjs'

/** Headers of a response that rules of providers refer to; the others may name an account. */
const KEPT_HEADERS = ['content-type', 'retry-after']

/**
 * Plays each conversation with a model of its own and returns a recording for each.
 *
 * @param {{ dialect: string, model: string, apiKey: string, baseURL?: string, only?: string }} provider
 * @param {(name: string) => void} [onConversation]
 */
export async function recordAll({ only = '', ...provider }, onConversation = () => {}) {
  const recordings = []
  for (const conversation of CONVERSATIONS.filter(({ name }) => name.includes(only))) {
    onConversation(conversation.name)
    recordings.push(await record(provider, conversation))
  }
  return recordings
}

async function record(provider, { name, messages, tools = [], options }) {
  const exchanges = []
  const redactor = () => createRedactor({ values: [provider.apiKey] })
  const redactText = (text) => redactor().redact(text)
  /** Passes a response on and keeps its bytes. */
  const recordingFetch = async (url, init) => {
    const exchange = { path: new URL(url).pathname, request: JSON.parse(bodyText(init.body)) }
    exchanges.push(exchange)
    const response = await fetch(url, init)
    exchange.status = response.status
    exchange.headers = Object.fromEntries(
      KEPT_HEADERS.flatMap((header) => {
        const value = response.headers.get(header)
        return value === null ? [] : [[header, value]]
      }),
    )
    const [passed, kept] = response.body.tee()
    exchange.body = new Response(kept).arrayBuffer()
    return new Response(passed, response)
  }
  const model = providerModel({ ...provider, fetch: recordingFetch, maxRetries: 0 })
  const declared = tools.map((tool) => [tool, defineTool({ readOnly: true, ...TOOLS[tool] })])
  const turn = runTurn({ model, messages, tools: Object.fromEntries(declared), ...options })
  const result = await turn.result
  return {
    name,
    dialect: provider.dialect,
    model: provider.model,
    date: new Date().toISOString().slice(0, 10),
    status: result.status,
    finishReason: result.finishReason ?? null,
    text: redactText(result.text),
    error: result.error
      ? { code: result.error.code, message: redactText(result.error.message) }
      : null,
    exchanges: await Promise.all(
      exchanges.map(async ({ request, body, ...exchange }) => ({
        ...exchange,
        request: redactor().value(request),
        ...redactedBody(await body, redactText),
      })),
    ),
  }
}

const bodyText = (body) => (typeof body === 'string' ? body : new TextDecoder().decode(body))

/** A body as a text, or in base64 if it is binary: frames have lengths and checksums, so they stay. */
function redactedBody(bytes, redactText) {
  try {
    return { body: redactText(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) }
  } catch {
    return { b64: Buffer.from(bytes).toString('base64') }
  }
}
