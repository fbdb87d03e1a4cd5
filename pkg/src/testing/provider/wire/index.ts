// @ts-nocheck
// Every wire that the scripted provider speaks, and where each is asked.
import * as anthropic from './anthropic.js'
import * as bedrock from './bedrock.js'
import * as cohere from './cohere.js'
import * as gemini from './gemini.js'
import * as ollama from './ollama.js'
import * as openaiChat from './openai-chat.js'
import * as openaiResponses from './openai-responses.js'

const asked = ({ stream }) => stream === true
const always = () => true
const never = () => false

/** Path below the version → the name of the wire, and whether a body there asks for a stream. */
const PATHS = [
  [/^chat\/completions$/, 'openai-chat', asked],
  [/^messages$/, 'anthropic', asked],
  [/^responses$/, 'openai-responses', asked],
  [/^models\/[^/]+:streamGenerateContent$/, 'gemini', always],
  [/^models\/[^/]+:generateContent$/, 'gemini', never],
  [/^model\/[^/]+\/converse-stream$/, 'bedrock', always],
  [/^model\/[^/]+\/converse$/, 'bedrock', never],
  [/^chat$/, 'cohere', asked],
  [/^api\/chat$/, 'ollama', ({ stream }) => stream !== false],
]

/** The same for readers. */
export const PLACES = {
  ...{
    'openai-chat': '/chat/completions',
    anthropic: '/messages',
    'openai-responses': '/responses',
  },
  gemini: '/models/{model}:streamGenerateContent?alt=sse',
  ...{ bedrock: '/model/{model}/converse-stream', cohere: '/chat', ollama: '/api/chat' },
}

export const WIRES = {
  ...{ 'openai-chat': openaiChat, anthropic, 'openai-responses': openaiResponses },
  ...{ gemini, bedrock, cohere, ollama },
}

/** The wire that is asked at a path, and whether a body asks it for a stream; undefined for none. */
export function wireAt(path) {
  const [, name, streams] = PATHS.find(([pattern]) => pattern.test(path)) ?? []
  return name && { name, streams }
}
