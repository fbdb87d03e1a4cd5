// Recorded bodies of `tests/data`, replayed.
import { readFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { data } from '../data.mjs'

const folder = fileURLToPath(data(''))

/**
 * The events of a recorded body; undefined where there is no such tape. A body is sent as it
 * is; of `*.chunks.txt` each line is the data of one event.
 */
export function loadTape(path, anthropic) {
  const file = normalize(join(folder, path))
  if (!file.startsWith(folder) || !/\.(sse|txt)$/.test(file)) return undefined
  let text
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
  if (!file.endsWith('.chunks.txt')) return [text]
  const lines = text.split('\n').filter((line) => line.trim())
  const name = (line) => (anthropic ? `event: ${JSON.parse(line).type}\n` : '')
  return lines.map((line) => `${name(line)}data: ${line}\n\n`)
}
