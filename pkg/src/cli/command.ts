/** What the commands share: their options, their colours, their errors. */
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { isTurnlockError } from 'turnlock'

/** What ends a command with 2, and its usage. */
export class Usage extends Error {}

/** A command: its usage, and what it does. Returns the exit code. */
export interface Command {
  usage: string
  run(args: string[]): Promise<number> | number
}

type Options = NonNullable<ParseArgsConfig['options']>

/** Reads arguments. What does not fit is a `Usage`. */
export function read<T extends Options>(args: string[], options: T, usage: string) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new Usage(`${(error as Error).message}\nusage: ${usage}`)
  }
}

/** A whole number of the options; undefined where it is not given. */
export function whole(values: Record<string, unknown>, name: string): number | undefined {
  const given = values[name]
  if (given === undefined) return undefined
  if (typeof given === 'string' && /^\d{1,9}$/.test(given)) return Number(given)
  throw new Usage(`--${name}: a whole number`)
}

/** The message of an error, with its code. */
export function told(error: unknown): string {
  const { message } = error as Error
  return isTurnlockError(error) ? `${error.code}: ${message}` : message
}

/** Colours where there is a terminal and nobody forbids them (no-color.org). */
const isPlain = !process.stdout.isTTY || process.env['NO_COLOR'] !== undefined
const painted = (code: number) => (text: string) => (isPlain ? text : `\x1b[${code}m${text}\x1b[0m`)
export const [red, green, dim] = [painted(31), painted(32), painted(2)]

/** A text of others on a line: without control characters, and cut. */
export const line = (text: string, most = 160): string => {
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
  return clean.length > most ? `${clean.slice(0, most - 1)}…` : clean
}
