// @ts-nocheck
// The scripted provider without its server: a request in, a response out. See server.mjs for
// the paths. Web standards only: a page can have it inside.
import { BEHAVIOURS, fitted, look } from './behaviours.js'
import { misshapen, models } from './requests.js'
import { wireAt, WIRES } from './wire/index.js'

/**
 * @typedef {object} Kept One request, as it came.
 * @property {string} wire
 * @property {string} script
 * @property {any} body parsed; null where it was no JSON, or of no known shape
 * @property {string[]} tools their names
 * @property {string | null} choice of tools; `none` where they may not be called
 * @property {any} [whole] the body with the conversation that it continues
 * @property {{ id: string, input: unknown[] }} [conversation] what the provider keeps of it
 * @property {unknown[]} messages the list of messages, whatever the wire calls it
 * @property {Record<string, string>} headers without those that hold a key
 * @property {boolean} closedEarly the client left before the response had ended
 * @property {true} [failed] it was refused, or its response breaks off
 */

const PATH = /^\/s\/([^/]+)(?:\/(.+?)\/v1\/(.+)|\/(requests|cut))?$/
const OPEN = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'access-control-allow-methods': '*',
  'access-control-expose-headers': '*',
}
/** They stay out of what is kept. */
const SECRET = ['authorization', 'x-api-key', 'x-goog-api-key', 'cookie']

const json = (value, status = 200, headers = {}) =>
  Response.json(value, { status, headers: { ...OPEN, ...headers } })
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Sessions of their own; nothing is shared with other sets.
 * @param {Record<string, (rest: string, asked: { log: Kept[], wire: string, query: URLSearchParams }) => object | undefined>} scripts
 * kind → the entry of a script that is called `kind:rest`, beside the behaviours
 * @param {(error: unknown) => void} onError gets what the provider itself failed with
 * @param {{ most?: number, bytes?: number }} limits sessions, and characters of all of their bodies:
 * those are forgotten that were asked longest ago. A page that stays open makes one with every turn
 */
export function createSessions(
  scripts = {},
  onError = console.error,
  { most = 2000, bytes = Infinity } = {},
) {
  /** @type {Map<string, Kept[]>} */
  const sessions = new Map()
  /** By session: cuts the connection that waits for its client's word. */
  const cuts = new Map()
  const requests = (session) => sessions.get(session) ?? []

  /** Session → the characters of its bodies. */
  const sizes = new Map()
  let total = 0

  function open(session) {
    const log = requests(session)
    // Behind all others.
    sessions.delete(session)
    sessions.set(session, log)
    return log
  }

  function forget(session) {
    total -= sizes.get(session) ?? 0
    for (const map of [sessions, sizes, cuts]) map.delete(session)
  }

  function count(session, characters) {
    sizes.set(session, (sizes.get(session) ?? 0) + characters)
    total += characters
    for (const oldest of sessions.keys()) {
      if (sessions.size <= most && total <= bytes) break
      forget(oldest)
    }
  }

  /**
   * Answers a request. `path` stands for the address's where the provider is mounted somewhere.
   * @param {Request} request
   * @returns {Promise<Response>}
   */
  async function answer(request, path = new URL(request.url).pathname) {
    if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: OPEN })
    const [, session, script, at, kind] = PATH.exec(path) ?? []
    if (!session) return json({ error: { message: 'no such path' } }, 404)
    if (request.method === 'DELETE') {
      forget(session)
      return new Response(null, { status: 204, headers: OPEN })
    }
    if (request.method === 'GET' && kind === 'requests') return json(requests(session))
    if (request.method === 'POST' && kind === 'cut') {
      cuts.get(session)?.()
      return new Response(null, { status: 204, headers: OPEN })
    }
    const isListed = request.method === 'GET' && script && isKnown(decode(script), scripts)
    const listed = isListed && models(at, decode(script))
    if (listed) return json(listed)
    const wire = wireAt(at)
    if (request.method !== 'POST' || !script || !wire) {
      return json({ error: { message: 'no such path' } }, 404)
    }
    const log = open(session)
    const told = request.headers.has('x-cut')
      ? new Promise((resolve) => cuts.set(session, resolve))
      : undefined
    try {
      const text = await request.text()
      count(session, text.length)
      return await play({ request, text }, log, wire, { name: decode(script), scripts }, told)
    } catch (error) {
      onError(error)
      return json(WIRES[wire.name].failure(500, 'The scripted provider failed.'), 500)
    }
  }

  return { answer, requests }
}

/** `told`: settles when a connection may be cut; undefined where nobody says so. */
async function play({ request, text }, log, { name, streams }, { name: script, scripts }, told) {
  const wire = WIRES[name]
  const parsed = parse(text)
  const strange = misshapen(parsed, wire)
  const body = strange ? null : parsed
  const { tools, choice, list: messages } = wire.view(body ?? {})
  const kept = {
    ...{ wire: name, script, body, tools: tools.map((tool) => tool.name), choice, messages },
    ...{ headers: {}, closedEarly: false },
  }
  for (const [key, value] of request.headers) {
    if (!SECRET.includes(key)) kept.headers[key] = value
  }
  log.push(kept)
  const n = log.length
  const fail = (status, message, headers) => {
    kept.failed = true
    return json(wire.failure(status, message), status, headers)
  }
  if (strange) return fail(400, strange)
  if (!isKnown(script, scripts)) {
    return fail(404, `There is no behaviour ${script}: \`turnlock serve --list\` names them.`)
  }
  const isStreamed = streams(body)
  const { search, searchParams: query } = new URL(request.url)
  const conversations = log.flatMap(({ conversation }) => conversation ?? [])
  const whole = wire.continued ? wire.continued(body, conversations) : body
  if (!whole)
    return fail(400, `Previous response with id '${body.previous_response_id}' not found.`)
  if (whole !== body) kept.whole = whole
  const broken = wire.violation(whole, { search, streams: isStreamed })
  if (broken) return fail(400, broken)
  const entry = entryOf(script, scripts, { query, wire: name, log: log.slice(0, n) })
  if (!entry) return fail(404, `The script ${script} has no entry ${n}.`)
  if (entry.status) return fail(entry.status, entry.message ?? 'scripted failure', headersOf(entry))
  if (entry.page) return page(entry.page)
  if (!isStreamed && entry.then === 'error') return fail(503, 'The model is overloaded')
  const client = new Client(request.signal, kept, entry)
  if (entry.then === 'stall_head') await client.gone
  const place = { n, body }
  // A tape is sent as it was recorded.
  const events = entry.events ?? (isStreamed ? wire.stream : wholly)(entry, place, wire)
  if (!entry.events) kept.conversation = wire.keep?.(entry, place, whole)
  const type = wire.TYPE ?? 'text/event-stream; charset=utf-8'
  const headers = {
    'content-type': isStreamed || entry.events ? type : 'application/json',
    'cache-control': 'no-cache',
    ...(told && entry.then === 'cut' && { 'x-cut-behind': `${lengthOf(events)}` }),
  }
  const sent = streamOf(bytesOf(events, entry, client, told), client)
  return new Response(sent, { headers: { ...OPEN, ...headers, 'x-request-id': `req_${n}` } })
}

/** The page of a gateway. */
const page = (html) =>
  new Response(html, { headers: { ...OPEN, 'content-type': 'text/html; charset=utf-8' } })

/** The body of a response that is not streamed; half of it where it does not come to its end. */
function wholly(entry, place, wire) {
  const text = JSON.stringify(wire.whole(entry, place))
  return [entry.then ? text.slice(0, text.length >> 1) : text]
}

/** Whether there is such a script: a behaviour, or one of a kind. */
const isKnown = (script, scripts) =>
  Object.hasOwn(scripts, split(script)[0]) || Object.hasOwn(BEHAVIOURS, script)

/**
 * What the last of `log` is answered with: a wire entry, or `{ events, bytes }` of a tape.
 * @param {Kept[]} log
 */
function entryOf(script, scripts, { query, wire, log }) {
  const [kind, rest] = split(script)
  if (Object.hasOwn(scripts, kind)) return scripts[kind](rest, { log, wire, query })
  const seen = log.filter((one) => one.body).map(seenIn)
  const [now, before] = [seen.at(-1), seen.slice(0, -1)]
  return fitted(BEHAVIOURS[script].play(now, before), now, before)
}

/** What was seen in a request: each is looked at once, though a session asks again for all of them. */
const SEEN = new WeakMap()
function seenIn(one) {
  const seen = SEEN.get(one) ?? look(viewOf(one))
  SEEN.set(one, seen)
  return seen
}

/** What a request says. */
export const viewOf = ({ wire, body, whole = body }) => WIRES[wire].view(whole)

/** `kind:rest`; a behaviour has no kind. */
function split(script) {
  const at = script.indexOf(':')
  return at < 0 ? ['', script] : [script.slice(0, at), script.slice(at + 1)]
}

/** Whole seconds and the exact time to wait, as OpenAI sends them; where a redirect points. */
function headersOf({ retryAfterMs: ms, location }) {
  return {
    ...(ms !== undefined && {
      'retry-after': `${Math.ceil(ms / 1000)}`,
      'retry-after-ms': `${ms}`,
    }),
    ...(location && { location }),
  }
}

/** The one who asked: waits for the end, or leaves before it. */
class Client {
  left = false
  #ended = false
  #kept
  #breaks

  constructor(signal, kept, { then }) {
    this.#kept = kept
    this.#breaks = then !== undefined
    this.gone = new Promise((resolve) => (this.tell = resolve))
    if (signal.aborted) this.leave()
    signal.addEventListener('abort', () => this.leave())
  }

  ended() {
    this.#ended = true
    if (this.#breaks) this.#kept.failed = true
  }

  leave() {
    if (this.#ended) return
    if (this.#breaks) this.#kept.failed = true
    this.left = this.#kept.closedEarly = true
    this.tell()
  }
}

const encode = (event) => (typeof event === 'string' ? new TextEncoder().encode(event) : event)
const lengthOf = (events) => events.reduce((sum, event) => sum + encode(event).length, 0)

async function* bytesOf(events, entry, client, told) {
  for (const event of events) {
    const bytes = encode(event)
    const size = entry.bytes ?? bytes.length
    for (let at = 0; at < bytes.length; at += size) {
      if (client.left) return
      yield bytes.subarray(at, at + size)
      // A turn of the event loop lets the piece leave by itself.
      await pause(entry.paceMs ?? 0)
    }
  }
  if (entry.then === 'stall') await client.gone
  if (entry.then !== 'cut') return
  // Where the client does not say what it has read: what was written leaves before the connection
  // breaks, and whether it is read is the client's affair.
  await (told ? Promise.race([told, client.gone]) : pause(5))
  throw new Error('the connection breaks here, as scripted')
}

function streamOf(pieces, client) {
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { value, done } = await pieces.next()
          if (!done) return controller.enqueue(value)
          client.ended()
          controller.close()
        } catch (error) {
          client.ended()
          controller.error(error)
        }
      },
      cancel: () => client.leave(),
    },
    { highWaterMark: 0 },
  )
}

function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function decode(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
