// The scripted provider: an HTTP server that speaks OpenAI chat and Anthropic streaming, and
// plays behaviours, scenario tables or recorded bodies. Node built-ins only.
//
//   POST /s/<session>/<script>/v1/chat/completions    OpenAI chat
//   POST /s/<session>/<script>/v1/messages            Anthropic
//   GET  /s/<session>/requests                        what came, in order
//
// <script>: a behaviour (behaviours.mjs), `scenario:<name>` or `tape:<path in shared/corpora>`.
// The n-th request of a session plays the n-th entry; sessions do not disturb each other.
import { createServer } from 'node:http'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BEHAVIOURS, look } from './behaviours.mjs'
import * as wire from './wire.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const corpora = join(here, '../../../shared/corpora')
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Every scenario of the tables, by name. */
export function loadScenarios() {
  const folder = join(here, '../scenarios')
  const tables = readdirSync(folder).filter((file) => file.endsWith('.json'))
  const read = (file) => JSON.parse(readFileSync(join(folder, file), 'utf8'))
  return new Map(tables.flatMap(read).map((scenario) => [scenario.name, scenario]))
}

const scenarios = loadScenarios()

/** The n-th entry that a script plays for a request. */
function entryOf(script, body, n) {
  if (script.startsWith('scenario:')) {
    const scenario = scenarios.get(script.slice('scenario:'.length))
    return scenario?.model[n - 1] ?? { status: 500, message: `the script has no entry ${n}` }
  }
  if (script.startsWith('tape:')) return { tape: script.slice('tape:'.length) }
  return BEHAVIOURS[script]?.play(look(body), n) ?? { status: 404, message: 'no such script' }
}

function tape(path, anthropic) {
  const file = normalize(join(corpora, path))
  if (!file.startsWith(corpora)) throw new Error('outside of the corpora')
  const text = readFileSync(file, 'utf8')
  if (!file.endsWith('.chunks.txt')) return [text]
  const lines = text.split('\n').filter((line) => line.trim())
  const name = (line) => (anthropic ? `event: ${JSON.parse(line).type}\n` : '')
  return lines.map((line) => `${name(line)}data: ${line}\n\n`)
}

/** What a provider says to a history that breaks its rules; undefined for a good one. */
function violation(body, anthropic) {
  const messages = body.messages ?? []
  if (!messages.length) return 'messages: at least one message is required'
  if (anthropic) {
    if (messages[0].role !== 'user') return 'messages: first message must use the "user" role'
    return messages.some((m) => m.role === 'system')
      ? "messages: Unexpected role 'system'"
      : undefined
  }
  let open = []
  for (const message of messages) {
    if (message.role === 'tool') {
      if (!open.includes(message.tool_call_id)) {
        return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
      }
      open = open.filter((id) => id !== message.tool_call_id)
      continue
    }
    if (open.length) {
      return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(', ')}`
    }
    open = (message.tool_calls ?? []).map((call) => call.id)
  }
  return undefined
}

async function readBody(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** Answers as the provider's sessions do; usable as a handler of any Node server. */
export function createSessions() {
  const sessions = new Map()

  async function play(request, response, log, script, anthropic) {
    const body = JSON.parse(await readBody(request))
    const seen = { body, closedEarly: false }
    log.push(seen)
    const n = log.length
    response.on('close', () => (seen.closedEarly = !response.writableFinished))
    const fail = (status, message, headers = {}) => {
      const type = status === 429 ? 'rate_limit_error' : 'invalid_request_error'
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(
        JSON.stringify({ ...(anthropic && { type: 'error' }), error: { type, message } }),
      )
    }
    const broken = violation(body, anthropic)
    if (broken) return fail(400, broken)
    const entry = entryOf(script, body, n)
    if (entry.status) {
      const wait =
        entry.retryAfterMs === undefined ? {} : { 'retry-after-ms': `${entry.retryAfterMs}` }
      return fail(entry.status, entry.message ?? 'scripted failure', wait)
    }
    if (entry.then === 'stall_head') return
    const render = anthropic ? wire.anthropic : wire.openaiChat
    const events = entry.tape
      ? tape(entry.tape, anthropic)
      : render(entry, { n, model: body.model })
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    await send(response, events, entry)
  }

  /** @param {import('node:http').IncomingMessage} request */
  return async function handle(request, response, path) {
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*')
    response.setHeader('access-control-allow-methods', '*')
    response.setHeader('access-control-expose-headers', '*')
    if (request.method === 'OPTIONS') return response.writeHead(204).end()
    const [, session, script, kind] = /^\/s\/([^/]+)(?:\/(.+?)\/v1)?(\/.+)$/.exec(path) ?? []
    if (!session) return response.writeHead(404).end()
    const log = sessions.get(session) ?? []
    sessions.set(session, log)
    if (kind === '/requests') {
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(log))
    }
    if (!script) return response.writeHead(404).end()
    try {
      await play(request, response, log, decodeURIComponent(script), kind === '/messages')
    } catch (error) {
      if (!response.headersSent) response.writeHead(500)
      response.end(String(error))
    }
  }
}

async function send(response, events, entry) {
  for (const event of events) {
    const bytes = Buffer.from(event)
    const size = entry.bytes ?? bytes.length
    for (let at = 0; at < bytes.length; at += size) {
      if (response.destroyed) return
      response.write(bytes.subarray(at, at + size))
      // A turn of the event loop lets the chunk leave by itself.
      await pause(0)
    }
    if (entry.pauseMs) await pause(entry.pauseMs)
  }
  if (entry.then === 'stall') return
  if (entry.then === 'cut') {
    await pause(5)
    return response.destroy()
  }
  response.end()
}

/** Starts the provider on `port`, or on any free one. */
export async function createProvider({ port = 0 } = {}) {
  const handle = createSessions()
  const server = createServer((request, response) =>
    handle(request, response, new URL(request.url, 'http://localhost').pathname),
  )
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
