/** What `turnlock bench` measures: the first subject of a case is what the others are divided by. */
import { normalize, openaiChat, runTurn, summarizeReplicates } from 'turnlock'
import { summarize } from '../../../benches/bundle/plain.mjs'
import { believed, replicates } from '../../../benches/bundle/replicates.mjs'
import { asOpenAI, history } from '../../../benches/histories/history.mjs'
import { readText } from '../../../benches/stream/plain.mjs'
import { EVENTS, fetchOf, LENGTH, messages, response } from '../../../benches/stream/response.mjs'

export interface Case {
  title: string
  unit: string
  /** What the first subject does otherwise than the others. */
  note?: string
  /** Units in a millisecond of one call: times are divided by it. */
  per: number
  subjects: Record<string, () => unknown>
  /** So that no subject can skip its work. */
  isRight(made: unknown): boolean
}

const REPLICATES = 8
const FIELDS = 250
const MESSAGES = 1_000

/** Made when they are measured: each takes memory and time. */
export const CASES: Record<string, () => Case> = {
  text() {
    const chunks = response(1)
    return {
      title: `A text event, one a chunk, ${EVENTS} in a response`,
      ...{ unit: 'µs', per: EVENTS / 1000 },
      note: 'Plain JavaScript reads each event with JSON.parse. Turnlock takes the text out of an event that is spelled like the one before it, and parses only the others.',
      subjects: {
        'plain JavaScript, nothing checked': async () => {
          let length = 0
          await readText(await fetchOf(chunks)(), (text) => (length += text.length))
          return length
        },
        'turnlock runTurn, events read': async () => {
          let length = 0
          const fetch = fetchOf(chunks)
          const model = openaiChat({ baseURL: 'http://bench.invalid/v1', model: 'm', fetch })
          for await (const event of runTurn({ model, messages })) {
            if (event.type === 'text' && 'chunk' in event) length += event.chunk.length
          }
          return length
        },
      },
      isRight: (length) => length === LENGTH,
    }
  },
  history() {
    const ui = history(MESSAGES / 2)
    const openai = asOpenAI(ui)
    const dialect = 'openai-chat'
    const least = openai.length
    return {
      title: `A history of ${MESSAGES} messages into a request for OpenAI`,
      ...{ unit: 'ms', per: 1 },
      subjects: {
        'plain JavaScript, nothing checked': () => asOpenAI(ui),
        'JSON.stringify + JSON.parse': () => JSON.parse(JSON.stringify(openai)) as unknown,
        'turnlock normalize, from UIMessages': () => normalize(ui, { dialect }).messages,
        'turnlock normalize, from OpenAI’s': () => normalize(openai, { dialect }).messages,
      },
      isRight: (made) => (made as unknown[]).length >= least,
    }
  },
  bundle() {
    const { schema, data } = replicates(REPLICATES, FIELDS)
    const given = believed(data)
    const right = summarize(data, schema).confidence ?? NaN
    return {
      title: `A bundle of ${REPLICATES} answers of ${FIELDS} fields`,
      ...{ unit: 'ms', per: 1 },
      subjects: {
        'plain JavaScript, nothing checked': () => summarize(data, schema),
        'turnlock summarizeReplicates': () => summarizeReplicates(given, { schema }),
      },
      isRight: (made) => Math.abs((made as { confidence: number }).confidence - right) < 1e-9,
    }
  },
}
