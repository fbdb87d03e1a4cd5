/** Detects the provider whose request a text is. */
import { wrong } from '../errors.js'
import type { Dialect } from '../types.js'
import type { RecognizedText } from './format.js'

/** Addresses of a `curl` command: a host, then the path of a wire format. */
const ADDRESSES: readonly [RegExp, Dialect][] = [
  [/\bapi\.mistral\.ai\b/, 'mistral'],
  [/\bapi\.deepseek\.com\b/, 'deepseek'],
  [/\bapi\.groq\.com\b/, 'groq'],
  [/\bapi\.x\.ai\b/, 'xai'],
  [/\bapi\.cohere\.(com|ai)\b|\/v2\/chat$/, 'cohere'],
  [/\/api\/chat$/, 'ollama'],
  [/\/converse(-stream)?$/, 'bedrock'],
  [/:(stream)?[gG]enerateContent$/, 'gemini'],
  [/\/messages$/, 'anthropic'],
  [/\/responses$/, 'openai-responses'],
  [/\/chat\/completions$/, 'openai-chat'],
]

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
 * Returns the dialect of the provider that the request was made for. Undefined for events, exports
 * of tracing tools, messages of a framework, and plain messages.
 */
export function detectProvider(
  text: string,
  recognized: Pick<RecognizedText, 'format' | 'history'>,
): Dialect | undefined {
  const { format, history } = Object(recognized) as Partial<RecognizedText>
  if (typeof text !== 'string') throw wrong('text', 'a string')
  if (typeof format !== 'string' || !Array.isArray(history)) {
    throw wrong('recognized', 'what `recognizeFormat` returns')
  }
  if (history.some(isFrameworkMessage)) return undefined
  const isCurl = format.startsWith('curl command, ')
  const address = isCurl ? /https?:\/\/[^\s'"?]+/.exec(text)?.[0] : undefined
  const addressed = ADDRESSES.find(([pattern]) => address !== undefined && pattern.test(address))
  if (addressed) return addressed[1]
  const isRequest = /^(curl command, |JSON lines.*: )?[\w ]+$/.test(format)
  return isRequest ? FORMATS.find(([pattern]) => pattern.test(format))?.[1] : undefined
}

function isFrameworkMessage(message: unknown): boolean {
  const { parts, lc, kwargs, seq } = Object(message) as Record<string, unknown>
  const hasTypedPart = Array.isArray(parts) && parts.some((part) => Object(part).type)
  return Boolean(lc ?? kwargs ?? seq ?? hasTypedPart)
}
