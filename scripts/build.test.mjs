// What is built is built again when it may be another.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { unlessFresh } from './build.mjs'
import { root } from './setup.mjs'

const name = `test-${process.pid}`
const folder = join('.cache', name)
const input = join(folder, 'in')
const output = join(folder, 'out')
const write = (path, text) => writeFileSync(join(root, path), text)

mkdirSync(join(root, folder), { recursive: true })
after(() => {
  rmSync(join(root, folder), { recursive: true })
  rmSync(join(root, '.cache', `${name}.stamp`), { force: true })
})

test('a build that failed half-way leaves nothing that counts as fresh', async () => {
  let built = 0
  const build = (fails) =>
    unlessFresh(name, [input], [output], async () => {
      built++
      write(output, `${built}`)
      if (fails) throw new Error('it does not compile')
    })

  write(input, 'A')
  await build()
  await build()
  assert.equal(built, 1)
  write(input, 'B')
  await assert.rejects(build(true))
  write(input, 'A')
  await build()
  assert.equal(built, 3)
  rmSync(join(root, output))
  await build()
  assert.equal(built, 4)
})
