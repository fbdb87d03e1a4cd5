/** The wire formats of the scripted provider, and their paths. */
import * as anthropic from './anthropic.js'
import * as bedrock from './bedrock.js'
import * as cohere from './cohere.js'
import type { Wire } from './entry.js'
import * as gemini from './gemini.js'
import * as ollama from './ollama.js'
import * as openaiChat from './openai-chat.js'
import * as openaiResponses from './openai-responses.js'

/** The name of a wire format. */
export type WireName =
  'openai-chat' | 'anthropic' | 'openai-responses' | 'gemini' | 'bedrock' | 'cohere' | 'ollama'

export const WIRES: Readonly<Record<WireName, Wire>> = {
  'openai-chat': openaiChat,
  anthropic,
  'openai-responses': openaiResponses,
  gemini,
  bedrock,
  cohere,
  ollama,
}

/** A wire format at a path. */
export interface Endpoint {
  name: WireName
  /** Whether a request with this body asks for a stream. */
  streams(body: object): boolean
}

const ifRequested = (body: { stream?: unknown }) => body.stream === true
const unlessDeclined = (body: { stream?: unknown }) => body.stream !== false
const always = () => true
const never = () => false

/** Pattern of the path after the version, wire format, condition for a stream. */
const ENDPOINTS: readonly (readonly [RegExp, WireName, Endpoint['streams']])[] = [
  [/^chat\/completions$/, 'openai-chat', ifRequested],
  [/^messages$/, 'anthropic', ifRequested],
  [/^responses$/, 'openai-responses', ifRequested],
  [/^models\/[^/]+:streamGenerateContent$/, 'gemini', always],
  [/^models\/[^/]+:generateContent$/, 'gemini', never],
  [/^model\/[^/]+\/converse-stream$/, 'bedrock', always],
  [/^model\/[^/]+\/converse$/, 'bedrock', never],
  [/^chat$/, 'cohere', ifRequested],
  [/^api\/chat$/, 'ollama', unlessDeclined],
]

/** Returns the wire format at a path; undefined if there is none. */
export function endpointAt(path: string): Endpoint | undefined {
  const [, name, streams] = ENDPOINTS.find(([pattern]) => pattern.test(path)) ?? []
  return name && streams && { name, streams }
}
