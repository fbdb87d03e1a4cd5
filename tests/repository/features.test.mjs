// Each package that has features is linted with them, and no combination that a user may have is left out.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import test from 'node:test'
import { KINDS } from './features.mjs'
import { cargoEnv, root } from '../../scripts/setup.mjs'

test('every package of the workspace that has features is linted', () => {
  const args = ['metadata', '--no-deps', '--format-version', '1', '--locked', '--offline']
  const run = spawnSync('cargo', args, { cwd: root, env: cargoEnv, encoding: 'utf8' })
  assert.equal(run.status, 0, run.stderr)
  const { packages } = JSON.parse(run.stdout)
  const some = packages.filter(({ features }) => Object.keys(features).length > 0)
  const linted = Object.values(KINDS).flatMap((kind) => kind.packages)
  assert.deepEqual(some.map(({ name }) => name).toSorted(), linted.toSorted())
})

test('crates have every set of features; the shell has none, each one, and all', () => {
  const { crates, shell } = KINDS
  const names = ['a', 'b', 'c']
  const namesOf = (sets) => sets.map((set) => set.join('')).toSorted()
  assert.deepEqual(namesOf(crates.sets(names)), ['', 'a', 'ab', 'abc', 'ac', 'b', 'bc', 'c'])
  assert.deepEqual(namesOf(shell.sets(names)), ['', 'a', 'abc', 'b', 'c'])
  assert.deepEqual(crates.sets([]), [[]])
})
