// Skips a step of the build while its inputs have not changed.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { root } from '../setup.mjs'

/** The file with the hash of the inputs of a step. */
export const stampOf = (name) => join(root, '.cache', `${name}.stamp`)

/** Does `work` unless `outputs` are there and were made from the same inputs. Paths begin at the root. */
export async function unlessFresh(name, inputs, outputs, work) {
  const hash = createHash('sha256')
  for (const file of inputs.flatMap((input) => files(join(root, input)))) {
    hash.update(file).update('\0').update(readFileSync(file)).update('\0')
  }
  const stamp = stampOf(name)
  const key = hash.digest('hex')
  const isComplete = outputs.every((file) => existsSync(join(root, file)))
  if (isComplete && existsSync(stamp) && readFileSync(stamp, 'utf8') === key) return
  // A step that fails half-way has changed what was there.
  rmSync(stamp, { force: true })
  await work()
  mkdirSync(join(root, '.cache'), { recursive: true })
  writeFileSync(stamp, key)
}

/** The files of a folder and those below it, in a fixed order. */
function files(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  return readdirSync(path)
    .sort()
    .flatMap((name) => files(join(path, name)))
}
