/** The files that a command is given: names, and patterns that no shell has expanded. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { TurnlockError } from 'turnlock'
import { line } from './printable.js'

const IS_PATTERN = /[*?]/
/** Folders that a pattern enters only if it names them. */
const SKIPPED = new Set(['node_modules', '.git'])

/**
 * The files of these names and patterns, each once. `*` and `?` stand for characters of one name, `**`
 * for any number of folders. A name that exists is no pattern.
 *
 * @throws TurnlockError `command.file` for a pattern that matches no file
 */
export function expand(names: readonly string[]): string[] {
  const files = names.flatMap((name) =>
    IS_PATTERN.test(name) && !existsSync(name) ? matching(name.replaceAll('\\', '/')) : [name],
  )
  return [...new Set(files)]
}

function matching(pattern: string): string[] {
  const parts = pattern.split('/')
  const fixed = parts.slice(
    0,
    parts.findIndex((part) => IS_PATTERN.test(part)),
  )
  const start = fixed.join('/') || (pattern.startsWith('/') ? '/' : '.')
  const found = filesBelow(start, parts.slice(fixed.length))
  if (found.length) return found.toSorted()
  throw new TurnlockError('command.file', `${line(pattern)}: no file matches this pattern`)
}

function filesBelow(folder: string, [part = '', ...rest]: string[]): string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : []
  const path = (name: string) => (folder === '.' ? name : join(folder, name).replaceAll('\\', '/'))
  if (part === '**') {
    const folders = entries.filter((one) => one.isDirectory() && !SKIPPED.has(one.name))
    const below = folders.flatMap(({ name }) => filesBelow(path(name), [part, ...rest]))
    return [...new Set([...filesBelow(folder, rest.length ? rest : ['*']), ...below])]
  }
  const name = nameOf(part)
  const matches = entries.filter((one) => name.test(one.name))
  if (rest.length === 0)
    return matches.filter((one) => !one.isDirectory()).map((one) => path(one.name))
  return matches
    .filter((one) => one.isDirectory())
    .flatMap((one) => filesBelow(path(one.name), rest))
}

/** As in a shell, a pattern names hidden files only with their dot. */
function nameOf(pattern: string): RegExp {
  const escaped = pattern.replace(/[.+^${}()|[\]]/g, String.raw`\$&`)
  const source = escaped.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')
  return new RegExp(`^${pattern.startsWith('.') ? '' : '(?!\\.)'}${source}$`, 'u')
}
