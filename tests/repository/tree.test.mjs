// DESIGN.md says what the tree is.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { tracked } from '../../scripts/alone.mjs'
import { root } from '../../scripts/setup.mjs'

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

test('the layout in DESIGN.md has each folder, and each file beside the folders', () => {
  const [, layout] = /## 3\. Layout\n```text\n([^]*?)\n```/.exec(design)
  const places = [
    '',
    'crates',
    'crates/client/src',
    'crates/wasm/src',
    'examples',
    'pkg/src',
    'scripts',
    'src',
    'src/inference',
    'src/history',
    'src/turn',
    'tests',
    'www',
  ]
  const missing = places.flatMap((place) => {
    const inside = tracked().flatMap((path) => {
      if (place && !path.startsWith(`${place}/`)) return []
      return path.slice(place ? place.length + 1 : 0).split('/', 1)
    })
    // Tests stand beside what they test; settings of tools and of entries for other runtimes have their names.
    const exempt =
      /^(mod|lib|index|tests|main)\.|\.test\.mjs$|\.d\.ts$|\.lock$|lock\.json$|^\.|\.toml$/
    const names = [...new Set(inside)].filter((name) => !exempt.test(name))
    const stems = names.map((name) => name.replace(/\.\w+$/, '').replace(/^index\./, ''))
    return stems
      .filter((stem) => !new RegExp(`(?<![\\w-])${stem}(?![\\w-])`).test(layout))
      .map((stem) => `${place}/${stem}`)
  })
  assert.deepEqual(missing, [])
})
