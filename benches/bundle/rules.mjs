// Stop rules of others, for the table beside ours: Adaptive-Consistency (Aggarwal et al. 2023)
// and Early-Stopping Self-Consistency (Li et al. 2024). Checked against the oracle's vectors and
// the exact numbers of the simulated agents in pkg/test/rules.test.mjs.

/** P(p > 1/2) under Beta(leader + 1, runnerUp + 1): a tail of the binomial distribution. */
export function posterior(leader, runnerUp) {
  const n = leader + runnerUp + 1
  let [term, sum] = [1, 1]
  for (let i = 0; i < leader; i++) {
    term = (term * (n - i)) / (i + 1)
    sum += term
  }
  return sum / 2 ** n
}

/** Whether a window of answers is unanimous. */
export const unanimous = (window) => window.every((answer) => answer === window[0])

function tally(answers) {
  const counts = new Map()
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1)
  return counts
}

/** The most frequent answer; of equals the one seen first. */
const plurality = (answers) =>
  [...tally(answers)].reduce((best, one) => (one[1] > best[1] ? one : best))[0]

/** Rules: answers that would come → how many are asked for. */
export const fixed = (k) => () => k

export const adaptive = (threshold, cap) => (answers) => {
  for (let n = 1; n < cap; n++) {
    const counts = [...tally(answers.slice(0, n)).values()].sort((a, b) => b - a)
    if (posterior(counts[0], counts[1] ?? 0) >= threshold) return n
  }
  return cap
}

export const windows = (size, cap) => (answers) => {
  for (let n = size; n < cap; n += size) {
    if (unanimous(answers.slice(n - size, n))) return n
  }
  return cap
}

/** Exact accuracy and mean cost over a population, by summing over all sequences of five. */
export function exact(questions, rule) {
  const sequences = Array.from({ length: 4 ** 5 }, (_, n) =>
    Array.from({ length: 5 }, (__, place) => Math.floor(n / 4 ** place) % 4),
  )
  const outcomes = sequences.map((sequence) => {
    const asked = rule(sequence)
    return { asked, right: plurality(sequence.slice(0, asked)) === 0 }
  })
  let [accuracy, replicates] = [0, 0]
  for (const question of questions) {
    sequences.forEach((sequence, at) => {
      const p = sequence.reduce((product, answer) => product * question[answer], 1)
      const { asked, right } = outcomes[at]
      if (right) accuracy += p
      replicates += p * asked
    })
  }
  const n = questions.length
  return { accuracy: accuracy / n, replicates: replicates / n }
}
