import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The lines of a file of JSON lines; none if it is not there. */
export function lines(folder, name) {
  const path = join(folder, name)
  if (!existsSync(path)) return []
  return readFileSync(path, 'utf8').split('\n').filter(Boolean).map(JSON.parse)
}
