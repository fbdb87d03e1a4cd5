/** Detects the provider whose request a text is. */
import { wrong } from '../errors.js'
import { PROVIDERS, type ProviderInfo } from '../generated/providers.js'
import type { Dialect } from '../types.js'
import type { RecognizedText } from './format.js'

/**
 * The provider of an address: by its host, unless the path is of another API there; otherwise by its
 * path. Undefined for an unknown one, and for what is no address.
 */
export function addressed(address: string): Dialect | undefined {
  if (!URL.canParse(address)) return undefined
  const { hostname, pathname } = new URL(address)
  const isOf = ({ hosts }: ProviderInfo) =>
    hosts.some((host) => hostname === host || hostname.endsWith(`.${host}`))
  const ends = ({ path, pathEnds }: ProviderInfo) =>
    [path, ...pathEnds].some((end) => pathname.endsWith(end))
  const byPath = PROVIDERS.find(({ pathEnds }) => pathEnds.some((end) => pathname.endsWith(end)))
  const byHost = PROVIDERS.find(isOf)
  return (byHost && (ends(byHost) || !byPath) ? byHost : byPath)?.dialect
}

/** Formats of `recognizeFormat`. */
const FORMATS: readonly [RegExp, Dialect][] = [
  [/Gemini (request body|contents)$/, 'gemini'],
  [/(Responses request body|Responses items)$/, 'openai-responses'],
  [/Anthropic (request body|messages)$/, 'anthropic'],
  [/Bedrock Converse request body$/, 'bedrock'],
  [/Ollama request body$/, 'ollama'],
  [/LangChain request body$/, 'langchain'],
  [/OpenAI (request body|messages)$/, 'openai-chat'],
]

/**
 * Returns the dialect of the provider that the request was made for; of the session of an agent, the
 * provider of that agent. Undefined for events, exports of tracing tools, messages of a framework, and
 * plain messages.
 */
export function detectProvider(
  text: string,
  recognized: Pick<RecognizedText, 'format' | 'history' | 'dialect'>,
): Dialect | undefined {
  const { format, history, dialect: own } = Object(recognized) as Partial<RecognizedText>
  if (typeof text !== 'string') throw wrong('text', 'a string')
  if (typeof format !== 'string' || !Array.isArray(history)) {
    throw wrong('recognized', 'what `recognizeFormat` returns')
  }
  if (own !== undefined) return own
  if (history.some(isFrameworkMessage)) return undefined
  const isCurl = format.startsWith('curl command, ')
  const address = isCurl ? /https?:\/\/[^\s'"?]+/.exec(text)?.[0] : undefined
  const dialect = address === undefined ? undefined : addressed(address)
  if (dialect) return dialect
  const isRequest = /^(curl command, |JSON lines.*: )?[\w ]+$/.test(format)
  return isRequest ? FORMATS.find(([pattern]) => pattern.test(format))?.[1] : undefined
}

function isFrameworkMessage(message: unknown): boolean {
  const { parts, lc, kwargs, seq } = Object(message) as Record<string, unknown>
  const hasTypedPart = Array.isArray(parts) && parts.some((part) => Object(part).type)
  return Boolean(lc ?? kwargs ?? seq ?? hasTypedPart)
}
