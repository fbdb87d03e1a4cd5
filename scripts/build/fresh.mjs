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
  for (const file of inputs.flatMap(filesIn)) {
    // By its path in the repository: what is built in a clone is fresh in a copy of it.
    hash
      .update(file)
      .update('\0')
      .update(readFileSync(join(root, file)))
      .update('\0')
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
function filesIn(path) {
  const from = join(root, path)
  if (!existsSync(from)) return []
  if (statSync(from).isFile()) return [path]
  return readdirSync(from)
    .sort()
    .flatMap((name) => filesIn(`${path}/${name}`))
}
