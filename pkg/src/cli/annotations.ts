/** Findings in the formats that CI shows beside the lines of a change. */
import type { FileReport } from './doctor.js'
import { version } from './help.js'
import { visible } from './printable.js'
import { shown, type Finding, type Kind } from './verdict.js'

/** What the kinds of findings mean, for a person who sees the rule alone. */
const RULES: Readonly<Record<string, string>> = {
  LOOP: 'Equal calls with an equal result since the user spoke',
  PROVIDER_ERROR: 'A provider’s error of no known rule',
}

const isFailure = ({ kind }: Finding, failOn: readonly Kind[]) => failOn.includes(kind)

/** The line of a file, from 1, on which a call's id stands first; 1 if it has none. */
function lineOf(text: string | undefined, { toolCallId }: Finding): number {
  const at = toolCallId && text ? text.indexOf(JSON.stringify(toolCallId).slice(1, -1)) : -1
  return at < 0 ? 1 : (text ?? '').slice(0, at).split('\n').length
}

const place = ({ index }: Finding) => (index === undefined ? '' : `element ${index}: `)

/** Standard input has no file that could be shown. */
const nameOf = (file: string) => (file === '-' ? 'stdin' : file.replaceAll('\\', '/'))

const uriOf = (file: string) => nameOf(file).split('/').map(encodeURIComponent).join('/')

/**
 * One log for all files, as of SARIF 2.1.0 (OASIS, 2020-03-27): a result for each finding, a
 * notification for each file that could not be read.
 */
export function sarif(reports: readonly FileReport[], failOn: readonly Kind[]): object {
  const found = reports.flatMap((report) =>
    shown(report.found?.findings ?? [], failOn).map((finding) => ({ report, finding })),
  )
  const ids = [...new Set(found.map(({ finding }) => finding.code))].toSorted()
  const rules = ids.map((id) => ({ id, shortDescription: { text: RULES[id] ?? id } }))
  const locationOf = (file: string, startLine = 1) => ({
    physicalLocation: { artifactLocation: { uri: uriOf(file) }, region: { startLine } },
  })
  const results = found.map(({ report, finding }) => ({
    ruleId: finding.code,
    ruleIndex: ids.indexOf(finding.code),
    level: isFailure(finding, failOn) ? 'error' : finding.kind === 'repaired' ? 'note' : 'warning',
    message: { text: `${place(finding)}${finding.message}` },
    locations: [
      {
        ...locationOf(report.file, lineOf(report.text, finding)),
        ...(finding.index !== undefined && {
          logicalLocations: [{ fullyQualifiedName: `history[${finding.index}]` }],
        }),
      },
    ],
    properties: { kind: finding.kind },
  }))
  const unread = reports.flatMap(({ file, error }) =>
    error
      ? [
          {
            level: 'error',
            descriptor: { id: error.code },
            message: { text: error.message },
            locations: [locationOf(file)],
          },
        ]
      : [],
  )
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'turnlock', semanticVersion: version, rules } },
        invocations: [
          { executionSuccessful: unread.length === 0, toolExecutionNotifications: unread },
        ],
        results,
      },
    ],
  }
}

/** How a workflow command writes what would end it or its properties. */
const escapedText = (text: string) =>
  visible(text).replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
const escapedProperty = (text: string) =>
  escapedText(text).replaceAll(':', '%3A').replaceAll(',', '%2C')

/** Workflow commands of GitHub Actions: an annotation for each finding. */
export function github(reports: readonly FileReport[], failOn: readonly Kind[]): string[] {
  const row = (level: string, file: string, line: number, title: string, text: string) => {
    const properties = { file: nameOf(file), line: String(line), title }
    const words = Object.entries(properties).map(
      ([key, value]) => `${key}=${escapedProperty(value)}`,
    )
    return `::${level} ${words.join(',')}::${escapedText(text)}`
  }
  return reports.flatMap(({ file, text, found, error }) => {
    if (error) return [row('error', file, 1, error.code, error.message)]
    return shown(found?.findings ?? [], failOn).map((finding) => {
      const level = isFailure(finding, failOn)
        ? 'error'
        : finding.kind === 'repaired'
          ? 'notice'
          : 'warning'
      const said = `${place(finding)}${finding.message}`
      return row(level, file, lineOf(text, finding), finding.code, said)
    })
  })
}
