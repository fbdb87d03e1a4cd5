/** Whose request a text is: that provider decides what is wrong in it. */
import type { Dialect } from 'turnlock'
import type { Examined } from '../../../www/src/doctor/examine.js'

/** What the address of a `curl` command says: a host, then the path of a wire. */
const ADDRESSES: [RegExp, Dialect][] = [
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

/** What a text was recognised as. */
const SHAPES: [RegExp, Dialect][] = [
  [/Gemini (request body|contents)$/, 'gemini'],
  [/(Responses request body|Responses items)$/, 'openai-responses'],
  [/Anthropic (request body|messages)$/, 'anthropic'],
  [/Bedrock Converse request body$/, 'bedrock'],
  [/Ollama request body$/, 'ollama'],
  [/LangChain request body$/, 'langchain'],
  [/OpenAI (request body|messages)$/, 'openai-chat'],
]

/** Undefined for what is nobody's: events, exports of traces, messages of a framework, plain ones. */
export function whose(text: string, { what = '', history = [] }: Examined): Dialect | undefined {
  const isFramework = (one: unknown) => {
    const { parts, lc, kwargs, seq } = Object(one) as Record<string, unknown>
    return lc ?? kwargs ?? seq ?? (Array.isArray(parts) && parts.some((part) => Object(part).type))
  }
  if (history.some(isFramework)) return undefined
  const isCurl = what.startsWith('curl command, ')
  const address = isCurl ? /https?:\/\/[^\s'"?]+/.exec(text)?.[0] : undefined
  const asked = ADDRESSES.find(([pattern]) => address !== undefined && pattern.test(address))
  if (asked) return asked[1]
  const isRequest = /^(curl command, |JSON lines.*: )?[\w ]+$/.test(what)
  return isRequest ? SHAPES.find(([pattern]) => pattern.test(what))?.[1] : undefined
}
