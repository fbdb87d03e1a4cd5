// The texts that are searched.
import { readdirSync, readFileSync } from 'node:fs'

const folder = new URL('library/', import.meta.url)

/** `{ id, text }` of each. */
export const documents = readdirSync(folder)
  .filter((file) => file.endsWith('.txt'))
  .sort()
  .map((file) => ({ id: file, text: readFileSync(new URL(file, folder), 'utf8') }))
