// Moments of a turn, named by what happens there.

/**
 * In the order of the turn. `effect applied` is the receiver's to say, the rest the holder's. The
 * answer is asked for while the outcome may still be in flight.
 */
export const LANDMARKS = [
  'before the claim',
  'claim in flight',
  'claim kept',
  'tool started',
  'effect applied',
  'tool returned',
  'outcome in flight',
  'outcome kept',
  'answer asked for',
  'in the answer',
]

/** At any time at all: the parent's clock decides. */
export const ANYWHERE = 'anywhere'

/** Where a claim or an outcome is at stake. */
export const CRITICAL = [...LANDMARKS.slice(1, 7), 'answer asked for', ANYWHERE]

const has = (commit, kind) => commit.records.some(([name]) => name.startsWith(`${kind}/`))

/**
 * A store that calls `at` at the landmarks of commits. At those in flight the commit is under way
 * and nobody has heard of it.
 */
export function watched(store, at) {
  const AROUND = [
    ['claim', 'before the claim', 'claim in flight', 'claim kept'],
    ['outcome', 'tool returned', 'outcome in flight', 'outcome kept'],
  ]
  const commit = async (turn, one) => {
    const [, before, during, after] = AROUND.find(([kind]) => has(one, kind)) ?? []
    if (before) await at(before)
    const sent = store.commit(turn, one)
    sent.catch(() => {})
    if (during) await at(during)
    const answer = await sent
    if (after) await at(after)
    return answer
  }
  return { ...store, commit }
}
