// A client of the handler over real HTTP, and the receiver of what tools do.
import { createServer } from 'node:http'
import { createParser } from 'eventsource-parser'

let count = 0
/** An id that no other check uses. */
export const fresh = (name) => `${name}-${++count}-${Math.random().toString(36).slice(2, 8)}`

/** Reads a response as `text/event-stream`, until `enough` of the events. */
export async function readEvents(response, enough = () => false) {
  const [events, ids, comments] = [[], [], []]
  const parser = createParser({
    onEvent(event) {
      ids.push(event.id)
      events.push(JSON.parse(event.data))
    },
    onComment: (comment) => comments.push(comment),
    onError: (error) => {
      throw error
    },
  })
  const decoder = new TextDecoder()
  for await (const piece of response.body) {
    parser.feed(decoder.decode(piece, { stream: true }))
    if (enough(events, comments)) break
  }
  return { events, ids, comments }
}

/** One user at one server. */
export class Client {
  constructor(url, { tenant = 'ann', base = '/api/chat', script = 'one-call', session } = {}) {
    this.url = url
    this.base = base
    this.session = session ?? fresh('session')
    this.headers = {
      authorization: `Bearer ${tenant}`,
      'x-session': this.session,
      'x-script': script,
    }
  }

  /** The same user and session at another server. */
  at(url) {
    return Object.assign(Object.create(Client.prototype), this, { url })
  }

  fetch(path, { headers, ...init } = {}) {
    // A server that answers before it has read a body closes the connection behind its answer; the
    // next request may have it by then.
    const all = { connection: 'close', ...this.headers, ...headers }
    for (const name of Object.keys(all)) if (all[name] === undefined) delete all[name]
    return fetch(`${this.url}${this.base}${path}`, { ...init, headers: all })
  }

  post(path, body, { headers, ...init } = {}) {
    const json = { 'content-type': 'application/json', ...headers }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return this.fetch(path, { method: 'POST', headers: json, body: text, ...init })
  }

  start(body = {}, path = '/messages_two_stage', init) {
    return this.post(path, { messages: [{ role: 'user', content: 'go' }], ...body }, init)
  }

  /** Every event of a turn that is started here. */
  async run(body, path, init) {
    const response = await this.start(body, path, init)
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
    return readEvents(response)
  }

  resume(requestId, own = {}, init) {
    return this.post('/messages_two_stage/resume', { requestId, ...own }, init)
  }

  cancel(requestId, own = {}) {
    return this.post('/messages_two_stage/cancel', { requestId, ...own })
  }

  pause(requestId) {
    return this.post('/messages_two_stage/pause', { requestId })
  }

  attach(requestId, after, init = {}) {
    const headers = after === undefined ? {} : { 'last-event-id': String(after) }
    return this.fetch(`/messages_two_stage/${requestId}/events`, { headers, ...init })
  }

  /** Starts a turn, and leaves behind its event number `seq`. */
  async runUntil(seq, body, path) {
    const left = new AbortController()
    const response = await this.start(body, path, { signal: left.signal })
    const { events } = await readEvents(response, (so) => so.length >= seq)
    left.abort()
    return events.slice(0, seq)
  }
}

/** Where tools report to: keeps what ran, and lets a session's tools wait. */
export async function createReceiver() {
  const ran = new Map()
  const gates = new Map()
  const server = createServer(async (request, response) => {
    const session = request.url.slice(1)
    const pieces = []
    for await (const piece of request) pieces.push(piece)
    ran.set(session, [...(ran.get(session) ?? []), JSON.parse(Buffer.concat(pieces).toString())])
    gates.get(session)?.reached()
    await gates.get(session)?.open
    response.end('ok')
  })
  // No connection is closed under a client that is about to use it again.
  server.keepAliveTimeout = 0
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** What the tools of a session were run with, in order. */
    ran: (session) => ran.get(session) ?? [],
    /** Lets the tools of a session wait until `open()`; `reached` settles when one does. */
    hold(session) {
      let [open, reached] = []
      const gate = {
        open: new Promise((resolve) => (open = resolve)),
        arrived: new Promise((resolve) => (reached = resolve)),
      }
      gates.set(session, { ...gate, reached })
      return { open, reached: gate.arrived }
    },
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    },
  }
}
