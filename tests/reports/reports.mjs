// Reads the reports of `tests/data/reports`. Node only.
import { readdirSync, readFileSync } from 'node:fs'
import { data } from '../data.mjs'

const EXPECTATIONS = ['expected', 'expect', 'lacks', 'throws', 'checks']
const KINDS = ['history', 'stream', 'turn', 'call']

/**
 * Returns the reports of a file, whose variants are reports of their own.
 *
 * @throws Error if a member is missing
 */
export function readReport(name, text) {
  const { variants = [], ...whole } = JSON.parse(text)
  const first = withKind(whole)
  check(name, first)
  // Of a call's expectations, which stand beside its arguments, a variant takes all or none.
  const { expect, lacks, throws, checks, ...shared } = whole
  return [
    { ...first, name },
    ...variants.map((variant) => {
      const expects = EXPECTATIONS.some((member) => member in variant)
      const taken = expects ? shared : whole
      const own = withKind({ ...taken, open: undefined, ...variant })
      const report = { ...own, name: `${name} ${variant.name}` }
      check(report.name, report)
      return report
    }),
  ]
}

/** A report with `call` has its expectations beside it. */
function withKind(report) {
  const { expect, lacks, throws, checks, ...rest } = report
  if (!report.call) return report
  if (rest.expected) return { kind: 'call', ...rest }
  return { kind: 'call', ...rest, expected: { words: report.about, expect, lacks, throws, checks } }
}

function check(name, { source, date, kind, expected }) {
  if (!source) throw new Error(`${name}: \`source\` is missing: owner/repository#number`)
  if (!/^\d{4}(-\d\d-\d\d|$)/.test(date))
    throw new Error(`${name}: \`date\` must begin like 2026-11-30 or 2026`)
  if (!KINDS.includes(kind)) throw new Error(`${name}: \`kind\` must be one of ${KINDS.join(', ')}`)
  if (!expected?.words)
    throw new Error(`${name}: \`expected.words\` (or \`about\`) says what is right`)
  const { checks, expect, lacks, throws } = expected
  if (!checks?.length && expect === undefined && !lacks?.length && !throws) {
    throw new Error(`${name}: nothing is expected: checks, expect, lacks or throws`)
  }
}

/** All reports, by name. */
export function loadReports() {
  const folder = data('reports/')
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return files.sort().flatMap((file) => {
    return readReport(file.slice(0, -'.json'.length), readFileSync(new URL(file, folder), 'utf8'))
  })
}

/** Returns the n-th response (from 1) of a report with kind `turn`, for the scripted provider. */
export function reportEntry(report, n) {
  const responses = report?.input?.responses
  const response = responses?.[Math.min(n, responses.length) - 1]
  if (!response) return undefined
  const { body, b64, status, type, headers } = response
  const event = b64 ? Buffer.from(b64, 'base64') : body
  return { events: [event], status, headers: { ...(type && { 'content-type': type }), ...headers } }
}
