/** What is wrong with histories, and what becomes of them. */
import { isTurnlockError, type Dialect, type Repair } from 'turnlock'
import { findLoops } from 'turnlock/inspect'
import { github, sarif } from './annotations.js'
import { command, input, output, Usage } from './command.js'
import { differences } from './diff.js'
import { expand } from './files.js'
import { asJson, line } from './printable.js'
import { bodies } from './repaired-request.js'
import { dim, green, progress, red, wrapped } from './terminal.js'
import {
  deciding,
  DIALECTS,
  findingsIn,
  given,
  KINDS,
  rowOf,
  rowsOf,
  shown,
  type Finding,
  type Kind,
  type Row,
  type Verdict,
} from './verdict.js'

const FORMATS = ['text', 'json', 'sarif', 'github']

export const doctor = command({
  name: 'doctor',
  about:
    'What is wrong with a history, and what becomes of it. FILE (-: what is piped in; several, or patterns such as traces/**/*.json) is anything with a history in it: a request body, a curl command, JSON lines, an event stream, events of turns, messages of SDKs, sessions of coding agents (Claude Code, Codex, gemini-cli, qwen-code, opencode), steps of the AI SDK, a HAR file, spans of OpenTelemetry, exports of tracing tools. The provider whose request it is decides, or --dialect; where it is nobody’s, all are asked.',
  positionals: ['FILE…'],
  options: {
    dialect: {
      type: 'string',
      value: 'NAME',
      about: `another provider than the one whose request it is: ${DIALECTS.join(', ')}`,
    },
    'fail-on': {
      type: 'string',
      value: 'KINDS',
      default: 'refused',
      about:
        'what ends the command with 1, with commas between: refused (a provider rejects it), repaired (Turnlock would send something else), loop (three equal calls with an equal result since the user spoke), none',
    },
    format: {
      type: 'string',
      value: 'NAME',
      default: 'text',
      about:
        'text, json (as --json), sarif (one log of SARIF 2.1.0), github (annotations of a workflow)',
    },
    fix: { type: 'string', value: 'FILE', about: 'writes the request as the provider accepts it' },
    diff: { type: 'boolean', default: false, about: 'shows what that changes, as a unified diff' },
  },
  ends: '1 if something of --fail-on is found: by default if a provider rejects it or it is the error of a provider (for what is nobody’s request, a provider whose shape it has); otherwise 0; 2 if most of it has no known shape, or a file cannot be read, whatever the others have',
  async run(options, ...names) {
    const { dialect, fix, diff } = options
    if (dialect !== undefined && !DIALECTS.includes(dialect)) {
      throw new Usage(`--dialect: one of ${DIALECTS.join(', ')}`)
    }
    if (!FORMATS.includes(options.format)) throw new Usage(`--format: one of ${FORMATS.join(', ')}`)
    const failOn = kindsOf(options['fail-on'])
    const format = options.json ? 'json' : options.format
    const files = expand(names)
    if (files.length > 1 && (fix !== undefined || diff)) {
      throw new Usage(`${fix === undefined ? '--diff' : '--fix'} is for one file`)
    }
    if (files.filter((file) => file === '-').length > 1) throw new Usage('- is given twice')
    const how = { dialect: dialect as Dialect | undefined, fix, diff }
    const isOne = files.length === 1
    if (isOne && (format === 'text' || format === 'json')) {
      const found = examine(await input(files[0] as string), how)
      if (format === 'json') console.log(asJson(found.machine))
      else found.print()
      return isFound(found.findings, failOn) ? 1 : 0
    }
    return many(files, { how, format, failOn, json: options.json })
  },
})

const isFound = (findings: readonly Finding[], failOn: readonly Kind[]) =>
  findings.some(({ kind }) => failOn.includes(kind))

function kindsOf(text: string): readonly Kind[] {
  if (text === 'none') return []
  const kinds = text.split(',').map((kind) => kind.trim())
  if (kinds.every((kind): kind is Kind => KINDS.includes(kind as Kind))) return kinds
  throw new Usage(`--fail-on: ${KINDS.join(', ')} (several with commas between), or none`)
}

interface How {
  dialect: Dialect | undefined
  fix: string | undefined
  diff: boolean
}

/** What was found in a text. */
interface Examined {
  dialect: Dialect | undefined
  verdict: Verdict
  findings: Finding[]
  /** For `--json`. */
  machine: Record<string, unknown>
  /** For a person, of one file. */
  print(): void
}

function examine(text: string, { dialect, fix, diff }: How): Examined {
  const { recognized, detected } = given(text)
  const name = dialect ?? detected
  if (name !== undefined) {
    progress(`asking ${name}`)
    const row = rowOf(recognized, name)
    progress()
    const others = dialect === undefined ? rowsOf(recognized) : undefined
    return ofProvider(row, others, { given: { recognized, detected }, fix, diff })
  }
  const needs = fix !== undefined ? '--fix' : diff ? '--diff' : undefined
  if (needs !== undefined) {
    throw new Usage(`${needs} needs --dialect, since it is the request of no known provider`)
  }
  return ofNobody(rowsOf(recognized))
}

const counts = (rows: readonly Row[]) =>
  Object.fromEntries(rows.map(({ name, violations }) => [name, violations.length]))
const verdicts = (rows: readonly Row[]) =>
  Object.fromEntries(rows.map(({ name, verdict }) => [name, verdict]))

/** What is nobody's request: every provider at a glance. */
function ofNobody(rows: readonly Row[]): Examined {
  const decide = deciding(rows)
  const findings = findingsIn(decide)
  const isRejected = decide.some((row) => row.verdict === 'rejects')
  const verdict = isRejected
    ? 'rejects'
    : decide.some((row) => row.verdict === 'accepts')
      ? 'accepts'
      : 'converts'
  const { format: what, refused } = rows[0]?.report ?? {}
  const violations = Object.fromEntries(
    rows.flatMap((row) => (row.violations.length ? [[row.name, row.violations]] : [])),
  )
  const machine = {
    ...{ what, verdict, refused, dialects: counts(rows), verdicts: verdicts(rows) },
    ...{ violations, findings },
  }
  const print = () => {
    console.log(dim(line(what ?? '')))
    refusal(refused)
    for (const { name, verdict, wrong } of rows) {
      console.log(`${name.padEnd(17)} ${mark(verdict, wrong.length)}`)
    }
    if (!isRejected) {
      const others = rows.some((row) => row.verdict === 'converts')
        ? '; Turnlock sends it to each provider in its form'
        : ''
      console.log(`${green('✓ nothing is wrong with it')}${dim(others)}`)
    }
    printLoops(rows[0])
    if (rows.some(({ violations }) => violations.length > 0)) {
      console.log(dim('--dialect NAME says what a provider rejects, and where'))
    }
  }
  return { dialect: undefined, verdict, findings, machine, print }
}

function mark(verdict: Verdict, wrong: number): string {
  if (verdict === 'accepts') return green('✓ accepts')
  if (verdict === 'converts') return dim('converts')
  return red(wrong ? `✕ rejects (${wrong})` : '✕ rejects')
}

interface Sent {
  given: ReturnType<typeof given>
  fix: string | undefined
  diff: boolean
}

/** Colours of lines of a diff, by their first character. */
const PAINTED: Readonly<Record<string, (text: string) => string>> = {
  '-': red,
  '+': green,
  '@': dim,
}

/** The request of a provider. `others`: what all providers make of it. */
function ofProvider(row: Row, others: readonly Row[] | undefined, how: Sent): Examined {
  const { name: dialect, verdict, violations, report } = row
  const { format: what, otherFields: beside, refused, partial, result } = report
  const { fix, diff } = how
  const sent = result || fix !== undefined || diff ? bodies(how.given, dialect, report) : undefined
  if (fix !== undefined) output(fix, `${JSON.stringify(sent?.after, null, 2)}\n`)
  const differs = diff && sent ? differences(sent.before, sent.after) : undefined
  const repairs: readonly Repair[] = result?.repairs ?? []
  const findings = findingsIn([row])
  const machine = {
    ...{ dialect, what, verdict, beside, refused, partial, violations, repairs, findings },
    dialects: others && counts(others),
    verdicts: others && verdicts(others),
    ...{ wrote: fix, diff: differs },
  }
  const print = () => {
    console.log(dim(line(what ?? '')))
    if (partial) {
      console.log(dim('it continues state at the provider, so nothing in it is an orphan'))
    }
    refusal(refused)
    if (result) console.log(sentence(row))
    for (const { index, code, message } of violations) {
      console.log(`  [${index}] ${code}: ${line(message)}`)
    }
    const changed = repairs.filter(({ action }) => action !== 'converted')
    if (changed.length) console.log('repairs:')
    for (const { index, code, action, detail } of changed) {
      console.log(`  [${index}] ${action}, ${code}: ${line(detail)}`)
    }
    // What reads the same and is written otherwise, such as arguments that are no JSON.
    if (sent?.isRewritten && !changed.length && !diff) {
      console.log(dim('Turnlock sends it in another form; --diff shows which'))
    }
    for (const part of differs ?? []) console.log(PAINTED[part[0] as string]?.(part) ?? part)
    printLoops(row)
    if (fix !== undefined) console.log(`wrote ${line(fix)}, as ${dialect} accepts it`)
    if (others) elsewhere(others.filter(({ name }) => name !== dialect))
  }
  return { dialect, verdict, findings, machine, print }
}

function sentence({ name, verdict, violations }: Row): string {
  if (verdict === 'accepts') return green(`✓ ${name} accepts it as it is`)
  if (verdict === 'rejects') return red(`✕ ${name} rejects it: ${violations.length}`)
  return `Turnlock converts it for ${name}: it is in another provider’s form`
}

/** What the others make of it. */
function elsewhere(others: readonly Row[]): void {
  const named = (wanted: Verdict) => others.filter(({ verdict }) => verdict === wanted)
  const printNames = (what: string, names: string[]) => {
    if (names.length) console.log(dim(wrapped(`${what}: ${names.join(', ')}`, 2)))
  }
  const names = (wanted: Verdict) => named(wanted).map(({ name }) => name)
  printNames('as it stands, these accept it too', names('accepts'))
  printNames('Turnlock converts it for', names('converts'))
  const rejects = named('rejects').map(({ name, wrong }) => `${name} (${wrong.length})`)
  printNames('these reject it', rejects)
}

function printLoops(row: Row | undefined): void {
  const groups = row?.report.trace ? findLoops(row.report.trace) : []
  if (groups.length) console.log('repeated within a user turn:')
  for (const { places, name, args } of groups) {
    console.log(`  ${places.length}× ${line(name, 64)} ${line(args, 100)}`)
  }
}

function refusal(codes: readonly string[] | undefined): void {
  if (codes) console.log(red(`a provider's error: ${codes.join(', ') || 'of no known rule'}`))
}

/** A file as the formats of CI are told of it. */
export interface FileReport {
  file: string
  /** What it says; absent if it could not be read. */
  text?: string
  found?: Examined
  error?: { code: string; message: string }
}

interface Many {
  how: How
  format: string
  failOn: readonly Kind[]
  json: boolean
}

/** Each file for itself: one that cannot be read takes nothing from the others. */
async function many(files: readonly string[], { how, format, failOn }: Many): Promise<number> {
  const reports: FileReport[] = []
  for (const [at, file] of files.entries()) {
    progress(`${file}, ${at + 1} of ${files.length}`, at / files.length)
    const report = await reportOf(file, how)
    progress()
    reports.push(report)
    if (format === 'text') printFile(report, failOn)
    if (format === 'json') {
      const { dialect, verdict, findings, machine } = report.found ?? {}
      const what = machine?.['what']
      console.log(asJson({ file, what, dialect, verdict, findings, error: report.error }))
    }
  }
  if (format === 'sarif') console.log(asJson(sarif(reports, failOn)))
  if (format === 'github') for (const row of github(reports, failOn)) console.log(row)
  if (format === 'text') printSum(reports)
  if (reports.some(({ error }) => error)) return 2
  return reports.some(({ found }) => isFound(found?.findings ?? [], failOn)) ? 1 : 0
}

async function reportOf(file: string, how: How): Promise<FileReport> {
  let text: string | undefined
  try {
    text = await input(file)
    return { file, text, found: examine(text, how) }
  } catch (error) {
    if (!isTurnlockError(error)) throw error
    const { code, message } = error
    return { file, ...(text !== undefined && { text }), error: { code, message } }
  }
}

function printFile({ file, found, error }: FileReport, failOn: readonly Kind[]): void {
  if (error) return console.log(`${line(file)}: ${red(`${error.code}: ${line(error.message)}`)}`)
  if (!found) return
  const { dialect, verdict, findings } = found
  const wrong = findings.filter(({ kind }) => kind === 'refused').length
  console.log(`${line(file)}: ${dialect ? `${dialect} ` : ''}${mark(verdict, wrong)}`)
  for (const { kind, code, index, message } of shown(findings, failOn)) {
    const place = index === undefined ? '' : `[${index}] `
    const what =
      kind === 'repaired' ? dim(`${code}, ${line(message)}`) : `${code}: ${line(message)}`
    console.log(`  ${place}${what}`)
  }
}

function printSum(reports: readonly FileReport[]): void {
  const count = (verdict: Verdict) =>
    reports.filter(({ found }) => found?.verdict === verdict).length
  const loops = reports.flatMap(({ found }) => found?.findings ?? [])
  const parts: [number, string][] = [
    [count('accepts'), 'accepted'],
    [count('converts'), 'converted'],
    [count('rejects'), 'rejected'],
    [reports.filter(({ error }) => error).length, 'not read'],
    [loops.filter(({ kind }) => kind === 'loop').length, 'loops'],
  ]
  const said = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`)
  console.log(dim(`${reports.length} files: ${said.join(', ')}`))
}
