/** The APIs that are watched. */
import { chat } from './chat.js'
import { gemini } from './gemini.js'
import { METHOD_EXTENSION, plainPath } from './headers.js'
import { messages } from './messages.js'
import { responses } from './responses.js'
import type { Wire } from './wire.js'

/**
 * What the path of each API ends with. What stands before differs: versions (`/v1/beta/messages`),
 * deployments (`/openai/deployments/x/chat/completions`), prefixes of gateways.
 */
const ROUTES: readonly [RegExp, Wire][] = [
  [/\/chat\/completions$/, chat],
  [/\/responses$/, responses],
  // A message that is added to a thread of OpenAI's Assistants is no request for an answer.
  [/(?<!\/threads\/[^/]+)\/messages$/, messages],
]

/**
 * The methods of Gemini and Vertex AI, behind the name of a model, which may have dots and, in gateways,
 * slashes. `v1internal:generateContent`, of Google's Code Assist, has another body.
 */
const METHOD = /\/(?!v1internal:)[^/]+:(stream)?generatecontent$/

/** The API of a path; `undefined` for one that passes unwatched. */
export const wireOf = (path: string): Wire | undefined => {
  const plain = plainPath(path)
  const known = ROUTES.find(([end]) => end.test(plain))?.[1]
  return known ?? (METHOD.test(plainPath(path, METHOD_EXTENSION)) ? gemini : undefined)
}
