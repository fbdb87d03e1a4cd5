// DESIGN.md says what the tree is.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { tracked } from './alone.mjs'
import { root } from './setup.mjs'

const design = readFileSync(join(root, 'DESIGN.md'), 'utf8')

test('each file of the core with more than 400 lines, without its tests, has its reason in DESIGN.md', () => {
  const core = tracked().filter((path) => /^src\/.*\.rs$/.test(path) && !/tests\.rs$/.test(path))
  assert.ok(core.length > 100)
  for (const path of core) {
    const [own] = readFileSync(join(root, path), 'utf8').split(/^#\[cfg\(test\)\]\nmod \w+ \{/m)
    const lines = own.split('\n').length - 1
    if (lines > 400) assert.ok(design.includes(`\`${path.slice(4)}\``), `${path}: ${lines} lines`)
  }
})
