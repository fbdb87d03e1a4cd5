/** What providers make of a text, and what is wrong in it. */
import { PROVIDERS, type Dialect, type Repair, type Violation } from 'turnlock'
import {
  detectProvider,
  findLoops,
  inspectHistory,
  recognizeFormat,
  type CallGroup,
  type CallTrace,
  type InspectReport,
  type RecognizedText,
} from 'turnlock/inspect'
import { progress } from './terminal.js'

export const DIALECTS: readonly string[] = PROVIDERS.map(({ dialect }) => dialect)

/**
 * A provider accepts a history as it stands, rejects it, or would be sent it in its own form
 * (`converts`): nobody sent it that history, so nothing is wrong.
 */
export type Verdict = 'accepts' | 'converts' | 'rejects'

/** A text as it was recognized, and the provider that it is of. */
export interface Given {
  recognized: RecognizedText
  detected: Dialect | undefined
}

export function given(text: string): Given {
  const recognized = recognizeFormat(text)
  return { recognized, detected: detectProvider(text, recognized) }
}

/** What one provider makes of it. */
export interface Row {
  name: Dialect
  verdict: Verdict
  report: InspectReport
  violations: readonly Violation[]
  /** Those that say more than that the history is in another provider's form. */
  wrong: readonly Violation[]
}

/** Codes that follow from the form of a history, if that is another provider's. */
const OF_SHAPE = ['CONTENT_SHAPE', 'REASONING_FOREIGN', 'TOOL_RESULT_TYPE']

const besideShape = (violations: readonly Violation[]) =>
  violations.some(({ code }) => code === 'CONTENT_SHAPE')
    ? violations.filter(({ code }) => !OF_SHAPE.includes(code))
    : violations

export function rowOf(recognized: RecognizedText, name: Dialect): Row {
  const report = inspectHistory(recognized, { dialect: name })
  if (report.error) throw report.error
  const { violations = [], refused } = report
  const wrong = besideShape(violations)
  const isForeign = wrong.length < violations.length
  const verdict =
    wrong.length > 0 || refused !== undefined ? 'rejects' : isForeign ? 'converts' : 'accepts'
  return { name, verdict, report, violations, wrong }
}

/** What every provider makes of it. */
export function rowsOf(recognized: RecognizedText): Row[] {
  const rows = DIALECTS.map((name, at) => {
    progress(`${name}, ${at + 1} of ${DIALECTS.length}`, at / DIALECTS.length)
    return rowOf(recognized, name as Dialect)
  })
  progress()
  return rows
}

const hasOwnShape = (row: Row) => row.wrong.length === row.violations.length

/**
 * The rows that decide about what is nobody's request: those whose shape it has. If it has none's, as
 * the events of a turn, one that does not reject it is enough.
 */
export function deciding(rows: readonly Row[]): readonly Row[] {
  const matching = rows.filter(hasOwnShape)
  if (matching.length) return matching
  const fits = rows.filter(({ verdict }) => verdict !== 'rejects')
  return fits.length ? fits : rows
}

/** What is found in a text; CI chooses which kinds make it fail. */
export type Kind = 'loop' | 'refused' | 'repaired'
export const KINDS: readonly Kind[] = ['loop', 'refused', 'repaired']

export interface Finding {
  kind: Kind
  /** Code of a violation or a repair; `PROVIDER_ERROR` and `LOOP` otherwise. */
  code: string
  message: string
  /** Index of the element in the history. */
  index?: number
  toolCallId?: string
}

/** As many equal calls with an equal result are a loop: the proxy bounds the next one (`maxRepeats`). */
const LOOP = 3

/** Calls of one user turn that were made three times or more with one result. */
export function loopsIn(trace: CallTrace | undefined): CallGroup[] {
  if (!trace) return []
  return findLoops(trace).filter(({ places }) => {
    const counts = new Map<unknown, number>()
    for (const place of places) {
      const { result } = trace.calls[place] as CallTrace['calls'][number]
      const key = JSON.stringify(result)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    return Math.max(...counts.values()) >= LOOP
  })
}

/** What these providers reject, what they are sent instead, and the loops. */
export function findingsIn(rows: readonly Row[]): Finding[] {
  const [first] = rows
  if (!first) return []
  const { refused, trace } = first.report
  const errors = refused?.length === 0 ? ['PROVIDER_ERROR'] : (refused ?? [])
  const found: Finding[] = errors.map((code) => ({
    kind: 'refused',
    code,
    message: 'the provider rejected the request',
  }))
  for (const violation of merged(rows, ({ wrong }) => wrong)) {
    found.push({ kind: 'refused', ...violation })
  }
  const repaired = merged(rows, ({ report, verdict }) =>
    verdict === 'converts' ? [] : (report.result?.repairs ?? []).flatMap(toRepaired),
  )
  for (const repair of repaired) found.push({ kind: 'repaired', ...repair })
  for (const { name, args, places } of loopsIn(trace)) {
    const { id } = trace?.calls[places.at(-1) as number] ?? { id: '' }
    const message = `${name} was called ${places.length} times with ${args}`
    found.push({ kind: 'loop', code: 'LOOP', message, toolCallId: id })
  }
  return found
}

/** Without the repairs of what is rejected, which stand at the same places, unless they alone count. */
export function shown(findings: readonly Finding[], failOn: readonly Kind[]): Finding[] {
  if (failOn.includes('repaired') && !failOn.includes('refused')) return [...findings]
  const key = ({ index, code }: Finding) => JSON.stringify([index, code])
  const rejected = new Set(findings.filter(({ kind }) => kind === 'refused').map(key))
  return findings.filter((finding) => finding.kind !== 'repaired' || !rejected.has(key(finding)))
}

const toRepaired = ({ action, detail, ...repair }: Repair) =>
  action === 'converted' ? [] : [{ ...repair, message: `${action}: ${detail}` }]

interface Placed {
  code: string
  index: number
  message: string
  toolCallId?: string
}

/** What several providers say of one place, once, with their names if it is not all of them. */
function merged(
  rows: readonly Row[],
  read: (row: Row) => readonly Placed[],
): Omit<Finding, 'kind'>[] {
  const places = new Map<string, { first: Placed; names: string[] }>()
  for (const row of rows) {
    for (const placed of read(row)) {
      const key = JSON.stringify([placed.index, placed.code, placed.toolCallId])
      const entry = places.get(key) ?? { first: placed, names: [] }
      if (!entry.names.includes(row.name)) entry.names.push(row.name)
      places.set(key, entry)
    }
  }
  return [...places.values()].map(({ first, names }) => {
    const { code, index, toolCallId, message } = first
    const isOfAll = names.length === rows.length
    return {
      code,
      index,
      message: isOfAll ? message : `${message} (${names.join(', ')})`,
      ...(toolCallId !== undefined && { toolCallId }),
    }
  })
}
