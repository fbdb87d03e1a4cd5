// The built command, many runs in one process.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const folder = new URL('../', import.meta.url)
const { bin } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const path = fileURLToPath(new URL(bin.turnlock, folder))
const many = fileURLToPath(new URL('cli-many.mjs', import.meta.url))
const { NO_COLOR, FORCE_COLOR, ...plain } = process.env

/**
 * What each list of arguments comes to, as of a process of its own: `{ stdout, stderr, status }`.
 * @param {string[][]} lists none reads standard input or listens
 * @param {{ env?: Record<string, string>, node?: string[] }} options
 */
export function turnlocks(lists, { env = {}, node = [] } = {}) {
  const args = [...node, many, path, JSON.stringify(lists)]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...plain, ...env },
  })
  assert.deepEqual([status, stderr], [0, ''])
  const runs = JSON.parse(stdout)
  assert.equal(runs.length, lists.length)
  return runs
}
