// Plays the jobs of a table. Web standards only: it runs in Node, workerd and Chromium.

/** The wires, each with the client that speaks it. */
export const CLIENTS = {
  'openai-chat': 'openaiChat',
  anthropic: 'anthropic',
  'openai-responses': 'openaiResponses',
  gemini: 'gemini',
  bedrock: 'bedrock',
  cohere: 'cohere',
  ollama: 'ollama',
}
const [CHAT, ANTHROPIC, ...LATER] = Object.keys(CLIENTS)

/** A model of the scripted provider; `dialect` is a wire, or a relative of OpenAI's. */
export function modelOf(turnlock, dialect, options) {
  const client = CLIENTS[dialect]
  return client && dialect !== CHAT
    ? turnlock[client](options)
    : turnlock.openaiChat({ ...options, dialect })
}

/**
 * A job for each wire, or for the one that a scenario names. Node plays every scenario on every
 * wire; where a run is slower, a scenario is played on the first two and on one of the others, which
 * its place decides.
 */
export function byDialect(runtime, scenarios) {
  const wires = (at) =>
    runtime === 'node' ? Object.keys(CLIENTS) : [CHAT, ANTHROPIC, LATER[at % LATER.length]]
  return scenarios.flatMap((scenario, at) =>
    (scenario.dialect ? [scenario.dialect] : wires(at))
      .filter((dialect) => !scenario.not?.[dialect])
      .map((dialect) => ({ name: scenario.name, scenario, dialect })),
  )
}

/**
 * What a request of this wire is to offer and say. Ollama has no choice, and leaves the tools out;
 * Gemini's calls have no ids.
 */
export function offered(wire, want) {
  if (wire === 'ollama' && want.choice === 'none') return { ...want, tools: [], choice: null }
  if (wire !== 'gemini' || !want.has) return want
  return { ...want, has: want.has.filter((part) => !/^(c\d|old)$/.test(part)) }
}

/**
 * Plays jobs, so many at a time; counts and tells.
 * @param {{ runtime: string, lanes?: number }} host
 * @param {{ name: string, dialect?: string }[]} jobs
 * @param {(job: any, at: number) => Promise<void>} play throws what is wrong
 */
export async function playInLanes({ runtime, lanes = 8 }, jobs, play) {
  let passed = 0
  const failures = []
  const next = jobs.entries()
  const work = async () => {
    for (const [at, job] of next) {
      try {
        await play(job, at)
        passed++
      } catch (error) {
        // An error that is none of ours says where it came from.
        const why = error?.name === 'Error' ? error.message : (error?.stack ?? error)
        const where = [runtime, job.dialect].filter(Boolean).join(', ')
        failures.push(`${job.name} [${where}]\n  ${why}`)
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, work))
  return { passed, failed: failures.length, failures }
}
