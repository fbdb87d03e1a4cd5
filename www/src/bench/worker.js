// Runs the measurements, off the thread of the page. Import maps do not hold in workers, so this is
// bundled (`scripts/bench.mjs`).
import { normalize, summarizeReplicates } from 'turnlock'
import { summarize } from '../../../benches/bundle/plain.mjs'
import { believed, replicates } from '../../../benches/bundle/replicates.mjs'
import { asOpenAI, history } from '../../../benches/histories/history.mjs'
import { EVENTS, LENGTH, response, SUBJECTS } from '../../../benches/stream/subjects.mjs'
import { compare } from './measure.js'

const dialect = 'openai-chat'

/** Subjects of a group, what one of them must give, and how many units a call has. */
const GROUPS = {
  stream({ size }, peers) {
    const chunks = response(size)
    const all = Object.entries({ ...SUBJECTS, ...peers?.streams })
    const subjects = all.map(([name, read]) => [name, () => read(chunks)])
    return { subjects, isRight: (length) => length === LENGTH, units: EVENTS / 1000 }
  },
  histories({ messages: count }, peers) {
    const messages = history(count / 2)
    const openai = asOpenAI(messages)
    const subjects = {
      'JSON.stringify + JSON.parse': () => JSON.parse(JSON.stringify(messages)),
      'turnlock normalize, UIMessages': () => normalize(messages, { dialect }).messages,
      'turnlock normalize, OpenAI’s': () => normalize(openai, { dialect }).messages,
      ...peers?.histories(messages),
    }
    return {
      subjects: Object.entries(subjects),
      isRight: ({ length }) => length >= count,
      units: 1,
    }
  },
  bundles({ k, fields }) {
    const { schema, data } = replicates(k, fields)
    const given = believed(data)
    const subjects = {
      'plain JavaScript': () => summarize(data, schema),
      'turnlock summarizeReplicates': () => summarizeReplicates(given, { schema }),
    }
    const { confidence: right } = summarize(data, schema)
    const isRight = ({ confidence }) => Math.abs(confidence - right) < 1e-9
    return { subjects: Object.entries(subjects), isRight, units: 1 }
  },
}

addEventListener('message', async ({ data: { cases, rounds, beside } }) => {
  try {
    const peers = beside ? await import('./peers.js') : undefined
    for (const { id, kind, ...options } of cases) {
      const { subjects, isRight, units } = GROUPS[kind](options, peers)
      const tell = (round, times) => {
        const each = Object.entries(times).map(([name, ms]) => [name, ms / units])
        postMessage({ id, round, times: Object.fromEntries(each) })
      }
      await compare(Object.fromEntries(subjects), { rounds, isRight, tell })
    }
    postMessage({ done: true })
  } catch (error) {
    postMessage({ error: `${error.name}: ${error.message}` })
  }
})
