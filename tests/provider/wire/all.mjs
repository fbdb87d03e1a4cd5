// Every wire that the scripted provider speaks, and where each is asked.
import * as anthropic from './anthropic.mjs'
import * as bedrock from './bedrock.mjs'
import * as cohere from './cohere.mjs'
import * as gemini from './gemini.mjs'
import * as ollama from './ollama.mjs'
import * as openaiChat from './openai-chat.mjs'
import * as openaiResponses from './openai-responses.mjs'

/** Path below the version → the name of the wire. */
const PATHS = [
  [/^chat\/completions$/, 'openai-chat'],
  [/^messages$/, 'anthropic'],
  [/^responses$/, 'openai-responses'],
  [/^models\/[^/]+:streamGenerateContent$/, 'gemini'],
  [/^model\/[^/]+\/converse-stream$/, 'bedrock'],
  [/^chat$/, 'cohere'],
  [/^api\/chat$/, 'ollama'],
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

/** The wire that is asked at a path; undefined for none. */
export const wireAt = (path) => PATHS.find(([pattern]) => pattern.test(path))?.[1]
