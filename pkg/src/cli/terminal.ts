/** Colours, progress and errors of the commands. */
import { styleText } from 'node:util'
import { isTurnlockError } from 'turnlock'
import { Usage } from './command.js'
import { asJson, line } from './printable.js'

type Colour = Parameters<typeof styleText>[0]

/** Colours where there is a terminal and nobody forbids them (no-color.org), or where they are forced. */
const painted =
  (colour: Colour, stream: NodeJS.WriteStream = process.stdout) =>
  (text: string) =>
    // For Node, FORCE_COLOR counts more.
    process.env['NO_COLOR'] ? text : styleText(colour, text, { stream })
export const [red, green, dim] = [painted('red'), painted('green'), painted('dim')]
const redError = painted('red', process.stderr)

const WIDTH = 20

/**
 * What is being done, on a line of the terminal that the next one replaces; without words, none.
 * `part` of it, from 0 to 1, is shown as a bar.
 */
export function progress(text = '', part?: number): void {
  const { stderr } = process
  if (!stderr.isTTY || process.env['TERM'] === 'dumb') return
  const done = part === undefined ? undefined : Math.round(part * WIDTH)
  const bar = done === undefined ? '' : `${'█'.repeat(done)}${'░'.repeat(WIDTH - done)} `
  stderr.write(`\r\x1b[2K${line(bar + text, (stderr.columns || 80) - 1)}`)
}

/** An error of a command, for whoever reads its error output. */
export function complain(error: unknown, json: boolean): void {
  progress()
  const message = [(error as Error).message, ...causes(error)].join(': ')
  const code = isTurnlockError(error) ? error.code : 'command.failed'
  if (json) return console.error(asJson({ error: { code, message } }))
  console.error(redError(`${code}: ${line(message, 500)}`))
  if (error instanceof Usage && error.usage) console.error(error.usage)
}

/** The codes of what an error was caused by, such as `ECONNREFUSED`; its message where it has none. */
function causes(error: unknown): string[] {
  const { cause } = error as Error
  if (!(cause instanceof Error)) return []
  const { code } = cause as NodeJS.ErrnoException
  const detail = code ?? cause.message
  return [...((error as Error).message.includes(detail) ? [] : [detail]), ...causes(cause)]
}

/** The width of what a person reads, from 40 to 100 characters. */
export const columns = () => Math.min(100, Math.max(40, process.stdout.columns || 96))

/** Words on lines of at most `width` characters, behind `indent` spaces. */
export function wrapped(text: string, indent: number, width = columns()): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) as string
    if (last && indent + last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = last ? `${last} ${word}` : word
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}
