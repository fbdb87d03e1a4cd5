/** Colours, progress and errors of the commands. */
import { isTurnlockError } from 'turnlock'
import { line, Usage } from './command.js'

/** Colours where there is a terminal and nobody forbids them (no-color.org), or where they are forced. */
function isColoured(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR, FORCE_COLOR } = process.env
  if (NO_COLOR) return false
  if (FORCE_COLOR) return FORCE_COLOR !== '0'
  return stream.isTTY && stream.hasColors()
}

const painted = (code: number) => {
  const isPlain = !isColoured(process.stdout)
  return (text: string) => (isPlain ? text : `\x1b[${code}m${text}\x1b[0m`)
}
export const [red, green, dim] = [painted(31), painted(32), painted(2)]

/** What is being done, on a line of the terminal that the next one replaces; without words, none. */
export function progress(text = ''): void {
  const { stderr } = process
  if (!stderr.isTTY || process.env['TERM'] === 'dumb') return
  stderr.write(`\r\x1b[2K${line(text, (stderr.columns || 80) - 1)}`)
}

/** An error of a command, for whoever reads its error output. */
export function complain(error: unknown, json: boolean): void {
  progress()
  const message = [(error as Error).message, ...causes(error)].join(': ')
  const code = isTurnlockError(error) ? error.code : 'command.failed'
  if (json) return console.error(JSON.stringify({ error: { code, message } }))
  const text = `${code}: ${line(message, 500)}`
  console.error(isColoured(process.stderr) ? `\x1b[31m${text}\x1b[0m` : text)
  if (error instanceof Usage && error.usage) console.error(error.usage)
}

/** The codes of what an error was caused by, such as `ECONNREFUSED`; its message where it has none. */
function causes(error: unknown): string[] {
  const { cause } = error as Error
  if (!(cause instanceof Error)) return []
  const { code } = cause as NodeJS.ErrnoException
  const own = code ?? cause.message
  return [...((error as Error).message.includes(own) ? [] : [own]), ...causes(cause)]
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
