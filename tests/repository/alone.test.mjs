// What the copy is made of, and that it is taken away.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { hold, removeStale, tracked } from '../../scripts/alone.mjs'

test('without git, or where git refuses, the files are found by a walk', () => {
  const files = tracked().filter((file) => !/(^|\/)dist\//.test(file))
  for (const git of ['no-such-git', 'false']) {
    const walked = new Set(tracked(git))
    for (const file of files) assert.ok(walked.has(file), file)
    for (const file of walked) assert.doesNotMatch(file, /(^|\/)(\.git|node_modules|\.cache)\//)
  }
})

test('copies of processes that have ended are removed, and no others', () => {
  const copies = mkdtempSync(join(tmpdir(), 'turnlock-copies-'))
  const ended = spawnSync(process.execPath, ['--version']).pid
  const running = [process.pid, process.ppid].map(String)
  for (const name of [String(ended), ...running, 'turnlock']) {
    mkdirSync(join(copies, name, 'x'), { recursive: true })
  }
  removeStale(copies)
  assert.deepEqual(readdirSync(copies).sort(), running.sort())
  rmSync(copies, { recursive: true })
  removeStale(copies)
})

test('a folder holds the files that are given; what it has already is not written again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-held-'))
  const read = (name) => readFileSync(join(folder, name))
  hold(folder, new Map(['a/b.txt', 'a/c.txt', 'd.txt'].map((name) => [name, 'old'])))
  const before = statSync(join(folder, 'd.txt'), { bigint: true }).mtimeNs
  const bytes = Buffer.from([0xff, 0xfe])
  hold(
    folder,
    new Map([
      ['a/b.txt', 'new'],
      ['d.txt', 'old'],
      ['e/f.bin', bytes],
    ]),
  )
  assert.deepEqual(
    [read('a/b.txt').toString(), read('d.txt').toString(), read('e/f.bin')],
    ['new', 'old', bytes],
  )
  assert.deepEqual(readdirSync(join(folder, 'a')), ['b.txt'])
  assert.equal(statSync(join(folder, 'd.txt'), { bigint: true }).mtimeNs, before)
  // A file where a folder was, and the other way round.
  hold(
    folder,
    new Map([
      ['a', 'file'],
      ['d.txt/x', 'folder'],
    ]),
  )
  assert.deepEqual([read('a').toString(), read('d.txt/x').toString()], ['file', 'folder'])
  rmSync(folder, { recursive: true })
})
