// The event logs of the scenario tables: each scenario is played against the scripted provider, and
// what its turns told is kept.
import * as turnlock from 'turnlock'
import { playScenario } from '../scenarios/play.mjs'
import { createProvider, loadScenarios } from '../provider/server.mjs'

/** A turn whose events are kept in `leg` as they are read. */
const kept = (turn, leg) =>
  new Proxy(turn, {
    get(target, name) {
      if (name !== Symbol.asyncIterator) {
        const value = target[name]
        return typeof value === 'function' ? value.bind(target) : value
      }
      return async function* () {
        for await (const event of target) {
          leg.push(event)
          yield event
        }
      }
    },
  })

/**
 * Plays all scenarios on one wire. Returns for each what its legs told: a list of lists of events.
 * Legs of other turns than the first one, and those that were refused, are left out. `around` starts
 * each turn.
 */
export async function scenarioLogs(around = (start, options) => start(options)) {
  const provider = await createProvider()
  const logs = []
  try {
    const scenarios = [...loadScenarios().values()]
    const next = scenarios.entries()
    const work = async () => {
      for (const [at, scenario] of next) {
        const dialect = scenario.dialect ?? 'openai-chat'
        if (scenario.not?.[dialect]) continue
        const legs = []
        const run = (start) => (options) => {
          const leg = []
          legs.push(leg)
          return kept(around(start, options), leg)
        }
        const own = { runTurn: run(turnlock.runTurn), resumeTurn: run(turnlock.resumeTurn) }
        const host = { turnlock: { ...turnlock, ...own }, url: provider.url, dialect }
        // What a turn comes to is the players' to judge, which run alone: on a busy machine less of a
        // response may be read beside a tool, and that is a log as good as any.
        await playScenario({ ...host, session: `adapters-${at}` }, scenario).catch(() => {})
        logs.push({ name: scenario.name, legs: standing(legs) })
      }
    }
    await Promise.all(Array.from({ length: 8 }, work))
  } finally {
    await provider.close()
  }
  return logs
}

/** The legs of the first turn, whose events go on where those of the one before ended. */
function standing(legs) {
  let seq = 0
  return legs.filter((leg) => {
    const fits = leg.length > 0 && leg[0].seq > seq && leg[0].requestId === legs[0][0]?.requestId
    if (fits) seq = leg.at(-1).seq
    return fits
  })
}

/** The text that stands, of the events of a turn. */
export function standingText(events) {
  let stands = []
  for (const event of events) {
    if (event.voidFrom) stands = stands.filter(({ seq }) => seq < event.voidFrom)
    if (event.type === 'text') stands.push(event)
  }
  return stands.map(({ chunk }) => chunk).join('')
}
