// The built command, as a process.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { signature } from 'turnlock'

const folder = new URL('../', import.meta.url)
const { bin } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8'))
const turnlock = (...args) =>
  spawnSync(process.execPath, [fileURLToPath(new URL(bin.turnlock, folder)), ...args], {
    encoding: 'utf8',
  })

test('sign says the signature that a turn computes, however the arguments are spelled', () => {
  const expected = signature({ tool: 'find', args: { a: 1, b: 'é' } })
  for (const args of ['{"a":1,"b":"é"}', '{ "b": "\\u00e9", "a": 1.0 }']) {
    const { stdout, status } = turnlock('sign', 'find', args)
    assert.deepEqual([stdout, status], [`${expected}\n`, 0])
  }
  const { stdout } = turnlock('sign', 'find', '{"a":1,"b":"é"}', '--json')
  assert.deepEqual(JSON.parse(stdout), { tool: 'find', signature: expected })
  const acted = turnlock('sign', 'find', '{}', '--action', 'x', '--project', 'p').stdout.trim()
  assert.equal(acted, signature({ tool: 'find', args: {}, action: 'x', projectId: 'p' }))
})

test('what cannot be read ends with 2, and prints no signature', () => {
  const wrong = [[], ['sign'], ['sign', 'find'], ['sign', 'find', '{"a":'], ['sing', 'a', '{}']]
  for (const args of [...wrong, ['sign', 'a', '{"a":1,"a":2}'], ['sign', 'a', '{}', '--no']]) {
    const { stdout, stderr, status } = turnlock(...args)
    assert.deepEqual([stdout, status, stderr.length > 0], ['', 2, true], args.join(' '))
  }
})
