// Twins that are wrong on purpose, each in one way that a check has to notice.
import { redisStore } from 'turnlock/stores/redis'

/** Answers at once and writes later, as an engine with checkpoints in the background does. */
function writesBehind(client) {
  const store = redisStore(client)
  let last = Promise.resolve()
  // Later than any trial.
  const later = () => new Promise((resolve) => setTimeout(resolve, 3_600_000))
  const commit = async (turn, one) => {
    last = last.then(later).then(() => store.commit(turn, one))
    last.catch(() => {})
    return { ok: true }
  }
  return { ...store, commit }
}

/** Its script applies every commit to an existing turn: nobody is fenced off. */
function withoutFence(client) {
  return redisStore(async ([command, script, ...rest]) => {
    if (command === 'EVALSHA') throw new Error('NOSCRIPT')
    const rule = "if current[3] ~= '1' or stands ~= revision - 1 or not mine then"
    return client.call('EVAL', script.replace(rule, 'if false then'), ...rest)
  })
}

/** Whatever was claimed may run again, as where a step is retried until it has an outcome. */
function retriesClaims(client) {
  const store = redisStore(client)
  const open = ([name, text]) => [name, text.replace('"again":false', '"again":true')]
  const read = async (turn) => {
    const kept = await store.read(turn)
    return kept && { ...kept, records: kept.records.map(open) }
  }
  return { ...store, read }
}

/** Forgets the outcomes that it reads. */
function forgetsOutcomes(client) {
  const store = retriesClaims(client)
  const read = async (turn) => {
    const kept = await store.read(turn)
    const records = kept?.records.filter(([name]) => !name.startsWith('outcome/'))
    // The name is taken already.
    return kept && { ...kept, records }
  }
  const commit = async (turn, one) => {
    const free = one.records.filter(([name]) => !name.startsWith('outcome/'))
    return store.commit(turn, { ...one, records: free })
  }
  return { ...store, read, commit }
}

/** Leaves one kind of event out, in whatever group it is. */
function losesEvents(client) {
  const store = redisStore(client)
  const some = (text) => JSON.parse(text).filter(({ type }) => type !== 'tool_results')
  const events = async (...wanted) =>
    (await store.events(...wanted)).map(({ last, text }) => ({
      last,
      text: JSON.stringify(some(text)),
    }))
  return { ...store, events }
}

/** A tool that takes a key of its own each time. */
const newKeys = (parts) => {
  const { act } = parts.tools
  const execute = (args, context) =>
    act.execute(args, { ...context, idempotencyKey: `${process.hrtime.bigint()}` })
  return { ...parts, tools: { act: { ...act, execute } } }
}

/** Its tools may run again, whatever they were. */
const mayRunAgain = (parts) => {
  const { act } = parts.tools
  return { ...parts, tools: { act: { ...act, idempotent: true } } }
}

/** Name → the store of who holds, resumes or follows the turn; or the resumer's parts. */
export const WRONG = {
  'writes behind': { holder: writesBehind },
  'no fence': { holder: withoutFence, resumer: withoutFence },
  'retries claims': { resumer: retriesClaims, parts: mayRunAgain },
  'forgets outcomes': { resumer: forgetsOutcomes, parts: mayRunAgain },
  'loses events': { follower: losesEvents },
  'new keys': { parts: newKeys },
}
