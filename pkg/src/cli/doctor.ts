/** What is wrong with a history, and what becomes of it. */
import { PROVIDERS, type Dialect, type Repair, type Violation } from 'turnlock'
import {
  detectProvider,
  findLoops,
  inspectHistory,
  recognizeFormat,
  type InspectReport,
  type RecognizedText,
} from 'turnlock/inspect'
import { command, input, output, Usage } from './command.js'
import { differences } from './diff.js'
import { asJson, line } from './printable.js'
import { dim, green, progress, red, wrapped } from './terminal.js'

const DIALECTS: readonly string[] = PROVIDERS.map(({ dialect }) => dialect)

export const doctor = command({
  name: 'doctor',
  about:
    'What is wrong with a history, and what becomes of it. FILE (-: what is piped in) is anything with a history in it: a request body, a curl command, JSON lines, an event stream, events of turns, messages of SDKs, sessions of coding agents (Claude Code, Codex, gemini-cli, qwen-code, opencode), steps of the AI SDK, a HAR file, spans of OpenTelemetry, exports of tracing tools. The provider whose request it is decides, or --dialect; where it is nobody’s, all are asked.',
  positionals: ['FILE'],
  options: {
    dialect: {
      type: 'string',
      value: 'NAME',
      about: `another provider than the one whose request it is: ${DIALECTS.join(', ')}`,
    },
    fix: { type: 'string', value: 'FILE', about: 'writes the request as the provider takes it' },
    diff: { type: 'boolean', default: false, about: 'shows what that changes, as a unified diff' },
  },
  ends: '0 if the provider takes it as it is, 1 if it must be repaired or is the error of a provider; for what is nobody’s request, 1 if a provider whose shape it has refuses it; 2 if most of it has no known shape',
  async run({ dialect, fix, diff, json }, file = '') {
    if (dialect !== undefined && !DIALECTS.includes(dialect)) {
      throw new Usage(`--dialect: one of ${DIALECTS.join(', ')}`)
    }
    const text = await input(file)
    const recognized = recognizeFormat(text)
    const detected = detectProvider(text, recognized)
    const given = { recognized, detected }
    if (dialect !== undefined) return diagnoseFor(given, dialect as Dialect, { fix, diff, json })
    if (detected !== undefined)
      return diagnoseFor(given, detected, { fix, diff, json, others: true })
    const needs = fix !== undefined ? '--fix' : diff ? '--diff' : undefined
    if (needs === undefined) return all(recognized, json)
    throw new Usage(`${needs} needs --dialect, since it is the request of no known provider`)
  },
})

/** A text as it was recognized, and the provider that it is of. */
interface Given {
  recognized: RecognizedText
  detected: Dialect | undefined
}

function inspected(recognized: RecognizedText, dialect: Dialect): InspectReport {
  const found = inspectHistory(recognized, { dialect })
  if (found.error) throw found.error
  return found
}

interface Row {
  name: string
  what: string | undefined
  refused: readonly string[] | undefined
  violations: readonly Violation[]
}

/** Every provider at a glance. */
function glance(recognized: RecognizedText) {
  const rows = DIALECTS.map((name, at): Row => {
    progress(`${name}, ${at + 1} of ${DIALECTS.length}`, at / DIALECTS.length)
    const { format, violations = [], refused } = inspected(recognized, name as Dialect)
    return { name, what: format, refused, violations }
  })
  progress()
  const dialects = Object.fromEntries(rows.map(({ name, violations }) => [name, violations.length]))
  return { rows, dialects }
}

/** Codes that follow from the form of a history, if that is another provider's. */
const OF_SHAPE = ['CONTENT_SHAPE', 'REASONING_FOREIGN', 'TOOL_RESULT_TYPE']

/** Without what only says that it is written as another provider's: nobody was sent it. */
const besideShape = ({ violations }: Row) =>
  violations.some(({ code }) => code === 'CONTENT_SHAPE')
    ? violations.filter(({ code }) => !OF_SHAPE.includes(code))
    : violations
const isForeign = (row: Row) => besideShape(row).length < row.violations.length

/**
 * What is nobody's request: those whose shape it has are asked. If it has none's, as the events of a
 * turn, one that refuses nothing but the shape is enough.
 */
function all(recognized: RecognizedText, json: boolean): number {
  const { rows, dialects } = glance(recognized)
  const matching = rows.filter((row) => !isForeign(row))
  const [{ what, refused } = {} as Partial<Row>] = rows
  const isBad = matching.length
    ? matching.some(({ violations, refused }) => violations.length > 0 || refused)
    : refused !== undefined || rows.every((row) => besideShape(row).length > 0)
  if (json) {
    const found = rows.filter(({ violations }) => violations.length > 0)
    const violations = Object.fromEntries(found.map((row) => [row.name, row.violations]))
    console.log(asJson({ what, refused, dialects, violations }))
    return isBad ? 1 : 0
  }
  console.log(dim(line(what ?? '')))
  refusal(refused)
  for (const row of rows) {
    const { length } = row.violations
    const wrong = besideShape(row).length
    const isOther = isForeign(row) && (matching.length > 0 || wrong === 0)
    const mark = isOther ? dim('another shape') : length ? red(`✕ ${wrong} refused`) : green('✓')
    console.log(`${row.name.padEnd(17)} ${mark}`)
  }
  if (!isBad) {
    const others =
      matching.length < rows.length ? '; Turnlock sends it to each provider in its form' : ''
    console.log(`${green('✓ nothing is wrong with it')}${dim(others)}`)
  }
  if (rows.some(({ violations }) => violations.length > 0)) {
    console.log(dim('--dialect NAME says what a provider refuses, and where'))
  }
  return isBad ? 1 : 0
}

type Body = Record<string, unknown>

/** The repaired request. `rest`: what else the provider was sent, which stays as it is. */
function bodyOf(dialect: Dialect, messages: unknown, system: unknown, rest: Body = {}): Body {
  if (dialect === 'openai-responses') return { ...rest, input: messages }
  const [said, own] = (
    dialect === 'gemini' ? ['contents', 'systemInstruction'] : ['messages', 'system']
  ) as [string, string]
  const isJoined = rest[own] !== undefined && system !== undefined
  const prompt = isJoined ? joined(rest[own], system) : (system ?? rest[own])
  return { ...rest, ...(prompt !== undefined && { [own]: prompt }), [said]: messages }
}

/** The request's own prompt, and behind it the one that its messages had. */
function joined(own: unknown, more: unknown): unknown {
  const partsOf = (prompt: unknown): unknown[] => {
    if (typeof prompt === 'string') return [{ type: 'text', text: prompt }]
    if (Array.isArray(prompt)) return prompt
    const { parts } = Object(prompt) as { parts?: unknown }
    return Array.isArray(parts) ? parts : [prompt]
  }
  const all = [...partsOf(own), ...partsOf(more)]
  return Array.isArray(Object(own).parts) ? { ...(own as object), parts: all } : all
}

/** The function that makes a provider's models: requests of one differ only in what is refused. */
const clientOf = (dialect: Dialect | undefined): string | undefined =>
  PROVIDERS.find((provider) => provider.dialect === dialect)?.client

/** What a request says beside its history, if this provider can be sent it. */
function restOf({ recognized, detected }: Given, dialect: Dialect): Body | undefined {
  const fits =
    detected === dialect || (detected !== undefined && clientOf(detected) === clientOf(dialect))
  return fits ? recognized.body : undefined
}

/** The request as it is, or what there is of it, and as the provider takes it. */
function bodies(given: Given, dialect: Dialect, found: InspectReport) {
  const { history, result } = found
  if (!result) throw new Usage('--fix and --diff: there is no history in it')
  const rest = restOf(given, dialect)
  const after = bodyOf(dialect, result.messages, result.system, rest)
  const before = rest ?? bodyOf(dialect, history, undefined)
  const isOwn = rest !== undefined
  return { before, after, isRewritten: isOwn && JSON.stringify(before) !== JSON.stringify(after) }
}

/** Colours of lines of a diff, by their first character. */
const PAINTED: Readonly<Record<string, (text: string) => string>> = {
  '-': red,
  '+': green,
  '@': dim,
}

interface How {
  fix: string | undefined
  diff: boolean
  json: boolean
  /** Says what the other providers make of it too. */
  others?: boolean
}

function diagnoseFor(
  given: Given,
  dialect: Dialect,
  { fix, diff, json, others = false }: How,
): number {
  progress(`asking ${dialect}`)
  const found = inspected(given.recognized, dialect)
  progress()
  const { format: what, otherFields: beside, refused, partial, violations = [], result } = found
  const sent = result || fix !== undefined || diff ? bodies(given, dialect, found) : undefined
  if (fix !== undefined) output(fix, `${JSON.stringify(sent?.after, null, 2)}\n`)
  const differs = diff && sent ? differences(sent.before, sent.after) : undefined
  const dialects = others ? glance(given.recognized).dialects : undefined
  const repairs = result?.repairs ?? []
  const isBad = violations.length > 0 || refused !== undefined
  if (json) {
    const found = { dialect, what, beside, refused, partial, violations, repairs }
    console.log(asJson({ ...found, dialects, wrote: fix, diff: differs }))
    return isBad ? 1 : 0
  }
  console.log(dim(line(what ?? '')))
  if (partial) console.log(dim('it continues state at the provider, so nothing in it is an orphan'))
  refusal(refused)
  if (result) {
    console.log(
      violations.length
        ? red(`✕ ${dialect} refuses it: ${violations.length}`)
        : green(`✓ ${dialect} takes it as it is`),
    )
  }
  for (const { index, code, message } of violations as Violation[]) {
    console.log(`  [${index}] ${code}: ${line(message)}`)
  }
  const changed = (repairs as Repair[]).filter(({ action }) => action !== 'converted')
  if (changed.length) console.log('repairs:')
  for (const { index, code, action, detail } of changed) {
    console.log(`  [${index}] ${action}, ${code}: ${line(detail)}`)
  }
  // What reads the same and is written otherwise, such as arguments that are no JSON.
  if (sent?.isRewritten && !changed.length && !diff) {
    console.log(dim('Turnlock sends it in another form; --diff shows which'))
  }
  for (const row of differs ?? []) console.log(PAINTED[row[0] as string]?.(row) ?? row)
  const loops = found.trace ? findLoops(found.trace) : []
  if (loops.length) console.log('repeated within a user turn:')
  for (const { places, name, args } of loops) {
    console.log(`  ${places.length}× ${line(name, 64)} ${line(args, 100)}`)
  }
  if (fix !== undefined) console.log(`wrote ${line(fix)}, as ${dialect} takes it`)
  if (dialects) elsewhere(dialect, dialects)
  return isBad ? 1 : 0
}

/** What the others make of it. */
function elsewhere(own: Dialect, dialects: Record<string, number>): void {
  const others = Object.entries(dialects).filter(([name]) => name !== own)
  const takes = others.flatMap(([name, count]) => (count ? [] : [name]))
  const refuses = others.flatMap(([name, count]) => (count ? [`${name} (${count})`] : []))
  const printNames = (what: string, names: string[]) => {
    if (names.length) console.log(dim(wrapped(`${what}: ${names.join(', ')}`, 2)))
  }
  printNames('as it stands, these take it too', takes)
  printNames('these refuse it', refuses)
}

function refusal(codes: readonly string[] | undefined): void {
  if (codes) console.log(red(`a provider's error: ${codes.join(', ') || 'of no known rule'}`))
}
