// What tests of redaction share: a turn in which a model, a tool and an answer say what nobody may see,
// texts that other events divide, and letters of keys.
import { customModel, defineTool } from 'turnlock'
import { createRedactor } from 'turnlock/redact'

export const MAIL = 'ada@example.com'
export const VALUE = 'registered "value"'
/** Texts of which no reader may have any; none of them is hexadecimal, as random ids are. */
export const SECRETS = [MAIL, VALUE, JSON.stringify(VALUE).slice(1, -1), '555 2671', 'xyz']
export const redact = createRedactor({ values: [VALUE] })
export const messages = [{ role: 'user', content: 'go' }]
export const ANSWER = `Mail ${MAIL} and ${VALUE} 😀, or call +1 415 555 2671`
export const SHOWN = 'Mail [redacted:email] and [redacted:value] 😀, or call [redacted:phone]'

export const texts = (events) =>
  events
    .filter(({ type }) => type === 'text')
    .map(({ chunk }) => chunk)
    .join('')

/** Calls the tool once, then answers in parts of so many characters. */
export const model = (size = 1) => {
  let asked = 0
  return customModel(async function* () {
    if (asked++ === 0) {
      yield { type: 'text', text: `Looking for ${MAIL.slice(0, 5)}` }
      yield { type: 'text', text: `${MAIL.slice(5)}. ` }
      yield { type: 'tool_call_start', index: 0, id: 'c1', name: 'find' }
      yield { type: 'tool_call_arguments', index: 0, text: JSON.stringify({ who: MAIL }) }
      yield { type: 'tool_call_end', index: 0 }
      yield { type: 'finish', reason: 'tool_calls', raw: 'tool_calls' }
      return
    }
    for (const reason of ANSWER.slice(0, 20).match(/.{1,3}/gs))
      yield { type: 'reasoning', text: reason }
    const points = [...ANSWER]
    for (let at = 0; at < points.length; at += size) {
      yield { type: 'text', text: points.slice(at, at + size).join('') }
    }
    yield { type: 'finish', reason: 'stop', raw: 'stop' }
  })
}
export const tools = (seen = []) => ({
  find: defineTool({
    description: 'finds',
    inputSchema: { type: 'object' },
    execute: (args, { report }) => {
      seen.push(args)
      report({ at: MAIL })
      return { mail: MAIL, value: VALUE, password: 'xyz', n: 1 }
    },
  }),
})

/** What readers of events are shown of a text whose parts other events divide. */
export async function divided(redactor, chunks) {
  const events = chunks.flatMap((chunk, at) => [
    { type: 'text', phase: 'unified', seq: 2 * at + 1, chunk },
    { type: 'tool_start', seq: 2 * at + 2, callId: `c${at}`, name: 't', args: {} },
  ])
  let said = ''
  for await (const event of redactor.events(events.values())) said += event.chunk ?? ''
  return said
}

const letters = 'aB3dE5gH7jK9mN2pQ4sT6vW8xYz1Cf0L'
/** Letters and digits of a key: no text of the repository looks like one. */
export const random = (size, at = 0) =>
  Array.from(
    { length: size },
    (_, n) => letters[(n * n * 3 + n * 7 + at * 3 + (n >> 3)) % 32],
  ).join('')
