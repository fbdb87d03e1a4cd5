// Plays the jobs of a table. Web standards only: it runs in Node, workerd and Chromium.

/** A job for each wire, or for the one that a scenario names. */
export const byDialect = (scenarios) =>
  scenarios.flatMap((scenario) =>
    (scenario.dialect ? [scenario.dialect] : ['openai-chat', 'anthropic']).map((dialect) => ({
      ...{ name: scenario.name, scenario, dialect },
    })),
  )

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
