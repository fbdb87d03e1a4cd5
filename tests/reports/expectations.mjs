// Compares what a report's play observed with what the report expects. Node only.

/** Returns what an observation lacks; empty if it is as expected. */
export function faultsOf(report, observation) {
  const { checks = [], expect, lacks = [], throws } = report.expected
  const faults = checks
    .filter((check) => !holds(check, observation))
    .map((check) => `not: ${check}`)
  if (expect !== undefined) faults.push(...differences(expect, observation.result, 'result'))
  for (const path of lacks) {
    const found = path.split('.').reduce((value, name) => value?.[name], observation.result)
    if (found !== undefined) faults.push(`result.${path} is there`)
  }
  if (throws) faults.push(...differences(throws.code, observation.error, 'error'))
  else if (report.kind === 'call' && observation.error) {
    faults.push(`error ${observation.error}: ${observation.message}`)
  }
  return faults
}

/** Whether an expression over the members of the observation is true. */
function holds(check, observation) {
  const has = (text) =>
    JSON.stringify(observation.messages ?? observation.requests ?? observation.result).includes(
      text,
    )
  try {
    const names = Object.keys(observation)
    const evaluate = new Function(...names, 'has', `return (${check})`)
    return Boolean(evaluate(...Object.values(observation), has))
  } catch {
    return false
  }
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Objects need the members that are expected; arrays are compared whole. */
function differences(expected, found, path) {
  if (isObject(expected) && isObject(found)) {
    return Object.entries(expected).flatMap(([name, value]) =>
      differences(value, found[name], `${path}.${name}`),
    )
  }
  if (Array.isArray(expected) && Array.isArray(found) && expected.length === found.length) {
    return expected.flatMap((value, at) => differences(value, found[at], `${path}.${at}`))
  }
  if (expected === found) return []
  return [`${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(found)}`]
}
