/** What a turn needs of a model. */
import type { Delta, Dialect } from '../types.js'

/** The members of a request that the core decides, in the dialect's wire shape. */
export interface ModelRequest {
  messages: unknown[]
  system?: unknown
  tools?: unknown[]
  tool_choice?: unknown
  /** Only in a request pass that asks for structured output. */
  response_format?: unknown
}

/** A model, as `openaiChat`, `anthropic` and `customModel` make it. */
export interface Model {
  /** The wire of requests and responses. */
  readonly dialect: Dialect
  /** Repetitions of a request that failed before anything of its response was seen. */
  readonly maxRetries: number
  /** Sends a request: a response whose body is the stream, or deltas. */
  open(
    request: ModelRequest,
    options: { signal: AbortSignal },
  ): Promise<Response> | AsyncIterable<Delta>
}

/** A host's `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** What all HTTP models take. */
export interface HttpModelOptions {
  /** The provider's model name. */
  model: string
  /** Sent as the provider wants it. In a page, prefer a proxy that adds it. */
  apiKey?: string
  /** Added to every request. */
  headers?: Record<string, string>
  /** @defaultValue `globalThis.fetch` */
  fetch?: Fetch
  /** Repetitions of a failed request. @defaultValue 2 */
  maxRetries?: number
  /** Added to every request body, such as `{ temperature: 0 }`. */
  body?: Record<string, unknown>
}

/** Posts JSON. Neither the address nor a header ever reaches an error text. */
export function post(
  { fetch: given, headers }: HttpModelOptions,
  url: string,
  own: Record<string, string>,
  body: unknown,
  signal: AbortSignal,
): Promise<Response> {
  // Called as a method of nothing: a detached `fetch` throws in browsers otherwise.
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

/** An address without the slash at its end. */
export const trimSlash = (url: string): string => url.replace(/\/+$/, '')
