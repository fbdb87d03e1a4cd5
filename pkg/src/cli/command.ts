/** What the commands share: how they are declared, their files, their errors. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { TurnlockError } from 'turnlock'
import { nearest } from '../near.js'
import { line } from './printable.js'

/** What ends a command with 2. */
export class Usage extends TurnlockError {
  /** What a person is shown below it. */
  readonly usage: string | undefined

  constructor(message: string, usage?: string) {
    super('command.usage', message)
    this.usage = usage
  }
}

/** The question behind a name that does not exist. */
export function suggestion(given: string, names: readonly string[], prefix = ''): string {
  const near = nearest(given, names)
  return near === undefined ? '' : `; did you mean ${prefix}${near}?`
}

interface Option {
  type: 'string' | 'boolean'
  /** What stands behind it, in words of the usage. Absent for a boolean. */
  value?: string
  default?: string | boolean
  about: string
  required?: true
}
type Options = Record<string, Option>

type Parsed<T extends Options> = ReturnType<
  typeof parseArgs<{ options: T & typeof JSON_OPTION; allowPositionals: true; strict: true }>
>['values']

interface Declared<T extends Options> {
  name: string
  /** The arguments that are not options: as many are needed, and more of the last if it ends with `…`. */
  positionals: string[]
  options: T
  about: string
  /** What 0 and 1 mean; 2 is the same for all. */
  ends: string
  /** Returns the exit code. */
  run(values: Parsed<T>, ...positionals: string[]): Promise<number> | number
}

/** A command, whatever its options. */
export interface Command extends Omit<Declared<Options>, 'run'> {
  usage: string
  run(args: string[]): Promise<number> | number
}

const JSON_OPTION = {
  json: { type: 'boolean', default: false, about: 'prints JSON, a value on each line' },
} as const satisfies Options

export function command<const T extends Options>(declared: Declared<T>): Command {
  const options = { ...declared.options, ...JSON_OPTION }
  const { name, positionals: needed } = declared
  const words = Object.entries<Option>(options).map(([option, { value, required }]) => {
    const word = value === undefined ? `--${option}` : `--${option} ${value}`
    return required ? word : `[${word}]`
  })
  const usage = ['turnlock', name, ...needed, ...words].join(' ')
  const wrong = (what: string) => new Usage(what, `usage: ${usage}`)
  const read = (args: string[]) => {
    try {
      return parseArgs({ args, options, allowPositionals: true, strict: true })
    } catch (error) {
      throw wrong(worded(error as NodeJS.ErrnoException, Object.keys(options)))
    }
  }
  return {
    ...declared,
    options,
    usage,
    run(args) {
      const { values, positionals } = read(args)
      if (positionals.length < needed.length) {
        throw wrong(`${needed[positionals.length]?.replace('…', '')} is missing`)
      }
      const isOpen = needed.at(-1)?.endsWith('…')
      if (positionals.length > needed.length && !isOpen) {
        throw wrong(`one argument too many: ${line(positionals[needed.length] ?? '')}`)
      }
      for (const [option, { required }] of Object.entries<Option>(options)) {
        const value = (values as Record<string, unknown>)[option]
        if (required && value === undefined) throw wrong(`--${option} is missing`)
        if (value === '') throw wrong(`--${option} is empty`)
      }
      return declared.run(values as Parsed<T>, ...positionals)
    },
  }
}

/** What Node says of the options that are given, in fewer words. */
function worded({ code, message }: NodeJS.ErrnoException, names: readonly string[]): string {
  const [, option = ''] = /'(-[^' ]*)/.exec(message) ?? []
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') {
    return `unknown option ${line(option)}${suggestion(option.replace(/^-+/, ''), names, '--')}`
  }
  if (code !== 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') return message
  return `${option} ${message.includes('does not take') ? 'takes no value' : 'needs a value'}`
}

/** A whole number of the options, at most `most`; undefined where it is not given. */
export function wholeNumber(
  values: Record<string, unknown>,
  name: string,
  { least = 0, most = 999_999_999 } = {},
): number | undefined {
  const value = values[name]
  if (value === undefined) return undefined
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : NaN
  if (number >= least && number <= most) return number
  throw new Usage(`--${name}: a whole number from ${least} to ${most}`)
}

/** The text of a file, or of what is piped in (`-`). UTF-16 is what `>` of PowerShell writes. */
export async function input(file: string): Promise<string> {
  try {
    const bytes = file === '-' ? await piped() : readFileSync(file)
    const isWide = bytes[0] === 0xff && bytes[1] === 0xfe
    return new TextDecoder(isWide ? 'utf-16le' : 'utf-8').decode(bytes)
  } catch (error) {
    throw notDone(file, error)
  }
}

/** Not `readFileSync(0)`: it fails where whoever pipes is slow. */
async function piped(): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export function output(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (error) {
    throw notDone(file, error)
  }
}

const notDone = (file: string, error: unknown) =>
  new TurnlockError('command.file', `${line(file)}: ${(error as Error).message}`)
