/** What a command does and takes, for a person or as JSON. */
import type { Command } from './command.js'
import { asJson } from './printable.js'
import { columns, dim, wrapped } from './terminal.js'

const WRONG =
  '2: what was given cannot be read, or it failed; the error has a code (`command.usage`, `command.file`, `command.listen`, `command.failed`, or one of docs/errors.md)'

/** Of the package; the build fills it in. */
declare const PACKAGE_VERSION: string
export const version = PACKAGE_VERSION

export function overview(commands: Command[], json: boolean): string {
  if (json) return asJson({ version, commands: commands.map(facts) })
  const rows = commands.map(({ name, about }) => {
    const [first = ''] = about.split('. ')
    return `  ${name.padEnd(7)} ${wrapped(first.replace(/\.$/, ''), 10)}`
  })
  return [
    'usage: turnlock COMMAND …',
    '',
    ...rows,
    '',
    wrapped(
      'turnlock help COMMAND says what it takes. --json prints JSON, --version the version.',
      0,
    ),
  ].join('\n')
}

export function help(command: Command, json: boolean): string {
  if (json) return asJson(facts(command))
  const { usage, about, options, ends } = command
  const rows = Object.entries(options).map(([name, { value, about, default: preset }]) => {
    const word = value === undefined ? `--${name}` : `--${name} ${value}`
    const otherwise = typeof preset === 'string' ? ` (${preset})` : ''
    const isNarrow = columns() < 64
    const text = wrapped(about + otherwise, isNarrow ? 6 : 28)
    return isNarrow ? `  ${word}\n      ${text}` : `  ${word.padEnd(25)} ${text}`
  })
  const parts = [wrapped(`usage: ${usage}`, 7), wrapped(about, 0), rows.join('\n')]
  return [...parts, dim(wrapped(`Ends with ${ends}. ${WRONG}.`, 0))].join('\n\n')
}

const facts = ({ name, usage, about, positionals, options, ends }: Command) => ({
  name,
  usage,
  about,
  positionals,
  options,
  ends: `${ends}. ${WRONG}`,
})
