/** The interface between a turn and a model. */
import type { HttpModelOptions } from '../generated/models.js'
import type { Delta, Dialect } from '../types.js'

/**
 * The body of a request, in the dialect's wire format: the members that the core decides, and if the
 * model has a name, its own.
 */
export interface ModelRequest {
  messages: unknown[]
  system?: unknown
  tools?: unknown[]
  tool_choice?: unknown
  /** `strategy: "thread"`: the thread that the messages continue, of `conversationId`. */
  threadId?: string
  /** Only in a request pass with structured output. */
  response_format?: unknown
}

/** Where and how a body is sent. */
export interface Sending {
  signal: AbortSignal
  /** The path behind the base address. */
  path: string
  /** The headers that the provider needs, except the key. */
  headers: Record<string, string>
}

/** A model, as created by `openaiChat`, `anthropic` and `customModel`. */
export interface Model {
  /** The wire format of requests and responses. */
  readonly dialect: Dialect
  /** Maximum retries of a request that failed before any part of its response arrived. */
  readonly maxRetries: number
  /** The provider's name of the model. Without it, a body has only what the core decides. */
  readonly model?: string
  /** Whether the model keeps the conversation, so that turns may have `strategy: "thread"`. */
  readonly threads?: boolean
  /** Added to every body. */
  readonly body?: Record<string, unknown> | undefined
  /** Sends a request. Returns a response whose body is the stream, or deltas. */
  open(request: ModelRequest, options: Sending): Promise<Response> | AsyncIterable<Delta>
}

/** What a machine of the core is told of a model. */
export const modelOptions = ({ dialect, maxRetries, model, body }: Model) => ({
  ...{ dialect, maxRetries, model, body },
})

/** A host's `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Posts a request. Error messages never contain the URL or a header. */
export function post(
  { fetch: given, headers }: HttpModelOptions,
  baseURL: string,
  own: Record<string, string>,
  body: ModelRequest,
  sending: Sending,
): Promise<Response> {
  // Called without a receiver, because browsers throw if `fetch` has another `this`.
  const send: Fetch = given ?? ((address, init) => fetch(address, init))
  return send(trimSlash(baseURL) + sending.path, {
    method: 'POST',
    headers: { ...sending.headers, ...own, ...headers },
    body: JSON.stringify(body),
    signal: sending.signal,
    // The core reports a redirect. To follow it would send the key and the conversation elsewhere.
    redirect: 'manual',
  })
}

/** Removes trailing slashes from a URL. */
const trimSlash = (url: string): string => url.replace(/\/+$/, '')
