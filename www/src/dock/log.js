// What happened in a view: its events, and the requests that went to a model, with what came back.
// Headers are not among it, so no key is.

/** One thing that a view shows, from its beginning. */
export class Log {
  /** In order: `{ type, value, request? }`. */
  entries = []
  /** Type → how many. */
  counts = new Map()
  /** `{ url, body, status, headers, parts }`, in order. */
  requests = []
  /** Characters that were sent. */
  sent = 0
  /** What a test case of the turn needs: `{ messages, mode, policy, tools, wire, deltas? }`. */
  turn
  /** Is called when something was added. */
  onAdded = () => {}

  add(value, { type = value.type, request } = {}) {
    this.entries.push({ type, value, request })
    this.counts.set(type, (this.counts.get(type) ?? 0) + 1)
    this.onAdded()
  }

  /** A `fetch` whose requests and responses are kept. */
  recording(fetch) {
    return async (url, init = {}) => {
      // What was told before the request comes before it.
      await new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = resolve
        port2.postMessage(0)
      })
      const text = typeof init.body === 'string' ? init.body : new TextDecoder().decode(init.body)
      const request = { url: plain(url), body: parsed(text), parts: [] }
      this.requests.push(request)
      this.sent += text.length
      this.add({ url: request.url, body: request.body }, { type: 'request', request })
      return recordResponse(await fetch(url, init), request)
    }
  }
}

/** An address without what may be a secret in it. */
function plain(url) {
  const { origin, pathname, searchParams } = new URL(url, location.href)
  const alt = searchParams.get('alt')
  return `${origin}${pathname}${alt ? `?alt=${encodeURIComponent(alt)}` : ''}`
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The response, whose bytes are kept as far as they are read. */
function recordResponse(response, request) {
  request.status = response.status
  request.type = response.headers.get('content-type') ?? 'text/event-stream'
  // Others are read by the driver for what they are: a redirect, an error.
  if (!response.ok || !response.body || response.redirected) return response
  const tap = new TransformStream({
    transform(part, controller) {
      request.parts.push(part)
      controller.enqueue(part)
    },
  })
  const { status, headers } = response
  return new Response(response.body.pipeThrough(tap), { status, headers })
}
