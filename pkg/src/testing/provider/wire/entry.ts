/** Types and helpers that all wire formats share. */

/** A tool call of a scripted response. */
export interface ScriptCall {
  id: string
  name: string
  args?: unknown
  /** The arguments as text, instead of `args`. It does not have to be valid JSON. */
  argsText?: string | undefined
  /** How many pieces the arguments are streamed in. @defaultValue 1 */
  fragments?: number | undefined
}

/** One scripted response. */
export interface ScriptEntry {
  /** Reasoning, one delta each. */
  reasoning?: readonly string[] | undefined
  /** Text before the calls, one delta each. */
  text?: readonly string[] | undefined
  calls?: readonly ScriptCall[] | undefined
  /** Calls and results of tools that the provider runs itself, in its own format. */
  blocks?: readonly Record<string, unknown>[] | undefined
  /** Text after the calls, one delta each. */
  textAfter?: readonly string[] | undefined
  /** @defaultValue `tool_calls` with calls, otherwise `stop` */
  finish?: string | undefined
  /** Tokens. @defaultValue 10 and 5 */
  usage?: { input?: number; output?: number } | undefined
  /** How the response ends instead of finishing. */
  then?: 'cut' | 'end' | 'stall' | 'stall_head' | 'error' | 'malformed' | undefined
  /** The HTML page of a gateway, with status 200, which replaces the response. */
  page?: string | undefined
  /** Bytes of one write. @defaultValue one event */
  bytes?: number | undefined
  /** Milliseconds between two writes. @defaultValue 0 */
  paceMs?: number | undefined
  /** Status of an HTTP failure, which replaces the response. */
  status?: number | undefined
  /** Message of the failure. */
  message?: string | undefined
  /** Redirect target of the failure. */
  location?: string | undefined
  /** Delay in the `retry-after` headers of the failure, in milliseconds. */
  retryAfterMs?: number | undefined
}

/** A tool that a request declares. */
export interface DeclaredTool {
  name: string
  schema?: unknown
}

/** The content of a request, independent of its dialect. */
export interface RequestView {
  tools: DeclaredTool[]
  /** The tool choice; `none` if calls are forbidden. */
  choice: string | null
  /** The system prompt outside the messages. */
  system: string
  /** The messages as received. */
  list: readonly unknown[]
  messages: { role: string; text: string; results: string[] }[]
}

/** The request that an entry answers. */
export interface Place<Body extends object = object> {
  /** Its position in the session, from 1. */
  n?: number
  body?: Body
}

/** A piece of a stream that is sent with one write. */
export type StreamEvent = string | Uint8Array

/** A conversation that the provider stores. */
export interface StoredConversation {
  id: string
  input: unknown[]
}

/**
 * A wire format. The methods assume a body whose members have the types of the API;
 * `describeInvalidBody` catches what they throw for other bodies.
 */
export interface Wire {
  /** Content type of a stream. @defaultValue `text/event-stream; charset=utf-8` */
  readonly CONTENT_TYPE?: string
  /** Returns the events of a streamed response. */
  stream(entry: ScriptEntry, place?: Place): StreamEvent[]
  /** Returns the body of a response that is not streamed. */
  responseBody(entry: ScriptEntry, place?: Place): unknown
  /** Returns the body of a failed request. */
  failure(status: number, message: string): unknown
  /** Returns the API's error message for a request that breaks its rules; undefined if it is valid. */
  violation(body: object, request?: { search: string; streams: boolean }): string | undefined
  view(body: object): RequestView
  /** Returns the conversation that the provider stores with a response. */
  storedConversation?(
    entry: ScriptEntry,
    place: Place,
    body: object,
  ): StoredConversation | undefined
  /**
   * Returns the request together with the conversation that it continues; undefined if that
   * conversation is unknown.
   */
  withConversation?(body: object, conversations: readonly StoredConversation[]): object | undefined
}

/** Returns the first member of `value` that is not in `known`. */
export const unknownMember = (value: object, known: readonly string[]): string | undefined =>
  Object.keys(value).find((key) => !known.includes(key))

/** Returns the tokens of an entry. */
export const usageOf = ({ usage }: ScriptEntry) => ({ input: 10, output: 5, ...usage })

/** Returns the finish reason of an entry. */
export const finishOf = ({ finish, calls }: ScriptEntry): string =>
  finish ?? (calls?.length ? 'tool_calls' : 'stop')

/**
 * Returns the arguments of a call in the pieces in which they are streamed; only their first half if
 * the connection breaks inside them.
 */
export function argumentPieces(
  { args, argsText, fragments = 1 }: ScriptCall,
  isCutOff = false,
): string[] {
  const json = argsText ?? JSON.stringify(args ?? {})
  const text = isCutOff ? json.slice(0, Math.ceil(json.length / 2)) : json
  const size = Math.max(1, Math.ceil(text.length / fragments))
  const pieces = []
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size))
  return pieces
}

/**
 * Returns the arguments of a call as a value. Some wire formats cannot represent arguments that are
 * not valid JSON: those become `{}`.
 */
export function argumentsOf({ args = {}, argsText }: ScriptCall): unknown {
  if (argsText === undefined) return args
  try {
    return JSON.parse(argsText) as unknown
  } catch {
    return {}
  }
}

/** Whether the connection breaks inside the arguments of this call: the last one. */
export const isCut = ({ then, calls = [] }: ScriptEntry, index: number): boolean =>
  then === 'cut' && index === calls.length - 1
