// types.ts, compiled against the package's declarations.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const tsc = join(here, '../../node_modules/typescript/bin/tsc')

export const types = {
  'what callers write compiles, and what they may not write does not'() {
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', here], { encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  },
}
