/** The interface between a turn and a model. */
import type { HttpModelOptions } from '../generated/models.js'
import type { Delta, Dialect } from '../types.js'

/** The members of a request that the core sets, in the dialect's wire format. */
export interface ModelRequest {
  messages: unknown[]
  system?: unknown
  tools?: unknown[]
  tool_choice?: unknown
  /** Only in a request pass with structured output. */
  response_format?: unknown
}

/** A model, as created by `openaiChat`, `anthropic` and `customModel`. */
export interface Model {
  /** The wire format of requests and responses. */
  readonly dialect: Dialect
  /** Maximum retries of a request that failed before any part of its response arrived. */
  readonly maxRetries: number
  /** Sends a request. Returns a response whose body is the stream, or deltas. */
  open(
    request: ModelRequest,
    options: { signal: AbortSignal },
  ): Promise<Response> | AsyncIterable<Delta>
}

/** A host's `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Posts JSON. Error messages never contain the URL or a header. */
export function post(
  { fetch: given, headers }: HttpModelOptions,
  url: string,
  own: Record<string, string>,
  body: unknown,
  signal: AbortSignal,
): Promise<Response> {
  // Called without a receiver, because browsers throw if `fetch` has another `this`.
  const send: Fetch = given ?? ((address, init) => fetch(address, init))
  return send(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...own,
      ...headers,
    },
    body: JSON.stringify(body),
    signal,
  })
}

/** Removes trailing slashes from a URL. */
export const trimSlash = (url: string): string => url.replace(/\/+$/, '')
