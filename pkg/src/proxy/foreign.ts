/** Responses in the format of another API, in which a client may find calls that are not judged. */
import type { Members } from './json.js'
import { folded } from './stray.js'
import type { Wire } from './wire.js'

/** Members with calls, in the formats of the known APIs. */
const MEMBERS =
  /^(?:tool[_-]?(?:use|calls?)|function[_-]?calls?|content[_-]?block|candidates|choices)$/
/** Types of calls, and of events about them. */
const TYPES = /^(?:tool[_.-]?(?:use|calls?|input)|function[_.-]?calls?|custom_tool_call)(?![a-z])/

/** Members and types that a wire has itself; where they may stand is told elsewhere. */
const OWN: Record<Wire['name'], { members: RegExp; types: RegExp }> = {
  chat: { members: /^(?:tool_calls|function_call|choices)$/, types: /^(?!)/ },
  messages: { members: /^content_block$/, types: /^tool_use$/ },
  responses: { members: /^(?!)/, types: /^(?:function_call|custom_tool_call)(?:_output)?$/ },
}

/** Members whose value is data of tools and users. */
const DATA = new Set(['arguments', 'input', 'tools', 'metadata', 'results', 'outputs'])

/** Types of events that say nothing. */
export const KEEP_ALIVE = /^(?:ping|heartbeat|keep[_-]?alive)$/

/** Words without which a text has nothing of another API; a wire's frames have their own all the time. */
const WORDS: Record<Wire['name'], RegExp> = {
  chat: /tool[_.-]?(?:use|input|call(?!s))|tool[.-]?calls|function[.-]?call|content[_-]?block|candidates/iu,
  messages:
    /tool[_.-]?(?:calls?|input)|tool[.-]?use|function[_.-]?call|content-?block\b|candidates|choices/iu,
  responses:
    /tool[_.-]?(?:use|call|input)|function[.-]?call|content[_-]?block|candidates|choices/iu,
}

/** Whether a text can have members or types of another API. */
export const mayBeForeign = (text: string, { name }: Wire): boolean => WORDS[name].test(text)

/** Whether JSON of a provider has calls, or their places, in the format of another API. */
export function isForeign(root: Members, { name: wire, places }: Wire): boolean {
  const { members, types } = OWN[wire]
  const left: unknown[] = [root]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    const isList = Array.isArray(value)
    for (const [member, inner] of Object.entries(value)) {
      const name = folded(member)
      if (!isList && MEMBERS.test(name) && isFull(inner) && !members.test(name)) return true
      const type = name === 'type' && typeof inner === 'string' ? folded(inner) : ''
      if (TYPES.test(type) && !types.test(type)) return true
      if (!DATA.has(name) && !places.stream.data.has(name)) left.push(inner)
    }
  }
  return false
}

const isFull = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0
