/** What is wrong with a history, and what becomes of it. */
import type { Dialect, Repair, Violation } from 'turnlock'
import { examine, type Examined } from '../../../www/src/doctor/examine.js'
import { groupsOf } from '../../../www/src/trace/calls.js'
import { command, input, line, output, Usage } from './command.js'
import { dim, green, progress, red } from './terminal.js'

const DIALECTS: readonly string[] = [
  ...['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'mistral', 'deepseek', 'cohere'],
  ...['bedrock', 'ollama', 'langchain', 'groq', 'xai', 'chat-template'],
]

export const doctor = command({
  name: 'doctor',
  about:
    'What is wrong with a history, and what becomes of it. FILE (-: what is piped in) is anything with a history in it: a request body, a curl command, JSON lines, an event stream, events of turns, messages of SDKs, exports of tracing tools.',
  positionals: ['FILE'],
  options: {
    dialect: {
      ...{ type: 'string', value: 'NAME' },
      about: `the provider; without it, each at a glance: ${DIALECTS.join(', ')}`,
    },
    fix: { type: 'string', value: 'FILE', about: 'writes the repaired messages; with --dialect' },
  },
  ends: '0 if the provider takes it as it is, 1 if it must be repaired or is the error of a provider; without --dialect, 1 if any provider refuses it',
  async run({ dialect, fix, json }, file = '') {
    if (dialect !== undefined && !DIALECTS.includes(dialect)) {
      throw new Usage(`--dialect: one of ${DIALECTS.join(', ')}`)
    }
    if (fix !== undefined && dialect === undefined) throw new Usage('--fix needs --dialect')
    const text = await input(file)
    return dialect === undefined ? all(text, json) : one(text, dialect as Dialect, fix, json)
  },
})

function examined(text: string, dialect: Dialect): Examined {
  const found = examine(text, { dialect, strategy: 'reconstruct' })
  if (found.error) throw found.error
  return found
}

/** Every provider at a glance. */
function all(text: string, json: boolean): number {
  const rows = DIALECTS.map((name, at) => {
    progress(`${name}, ${at + 1} of ${DIALECTS.length}`)
    const { what, violations = [], refused } = examined(text, name as Dialect)
    return { name, what, refused, violations: violations.length }
  })
  progress()
  const isBad = rows.some(({ violations, refused }) => violations > 0 || refused)
  if (json) {
    const dialects = Object.fromEntries(rows.map(({ name, violations }) => [name, violations]))
    console.log(JSON.stringify({ what: rows[0]?.what, refused: rows[0]?.refused, dialects }))
    return isBad ? 1 : 0
  }
  console.log(dim(line(rows[0]?.what ?? '')))
  refusal(rows[0]?.refused)
  for (const { name, violations } of rows) {
    const mark = violations ? red(`✕ ${violations} refused`) : green('✓')
    console.log(`${name.padEnd(17)} ${mark}`)
  }
  return isBad ? 1 : 0
}

function one(text: string, dialect: Dialect, fix: string | undefined, json: boolean): number {
  progress(`asking ${dialect}`)
  const found = examined(text, dialect)
  progress()
  const { what, beside, refused, violations = [], result, traced } = found
  if (fix !== undefined && result) {
    const { messages, system } = result
    const fixed = { ...(system !== undefined && { system }), messages }
    output(fix, `${JSON.stringify(fixed, null, 2)}\n`)
  }
  const repairs = result?.repairs ?? []
  const isBad = violations.length > 0 || refused !== undefined
  if (json) {
    console.log(JSON.stringify({ dialect, what, beside, refused, violations, repairs }))
    return isBad ? 1 : 0
  }
  console.log(dim(line(what ?? '')))
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
  const loops = groupsOf(traced?.calls ?? []).filter(({ places }) => places.length > 1)
  if (loops.length) console.log('repeated within a user turn:')
  for (const { places, name, args } of loops) {
    console.log(`  ${places.length}× ${line(name, 64)} ${line(args, 100)}`)
  }
  return isBad ? 1 : 0
}

function refusal(codes: readonly string[] | undefined): void {
  if (codes) console.log(red(`a provider's error: ${codes.join(', ') || 'of no known rule'}`))
}
