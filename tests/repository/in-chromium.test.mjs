// A page of Rust tests that never says how they ended does not hang, and is no success.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { afterEach, beforeEach } from 'node:test'
import { page, show } from '../client/in-chromium.mjs'

let folder
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnlock-page-'))
})
// None of Chromium's processes is left, whichever way it ended.
afterEach(async () => {
  while (descendants('').length) await new Promise((resolve) => setTimeout(resolve, 100))
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})

/** The page beside what stands for the glue of a test binary: its exports, and how it runs tests. */
function binary(exported, run, words = []) {
  writeFileSync(
    join(folder, 'glue.js'),
    `export default async () => (${exported})
    export class WasmBindgenTestContext {
      filtered_count(count) { this.filtered = count }
      async run(tests) {
        const tell = (text) => { document.getElementById('output').textContent += text }
        ${run}
      }
    }`,
  )
  return page('/glue.js', words)
}
const TESTS = `{ '__wbgt_a::adds': () => 'added', '__wbgt_a::takes': () => 'taken', other: 1 }`
const ALL = "tests.forEach((one) => tell(one() + ' ')); tell(this.filtered)"
const NEVER = 'await new Promise(() => {})'

test('what the tests say is told, and whether they passed', async () => {
  const passed = binary(TESTS, `${ALL}; return true`)
  assert.deepEqual(await show(folder, passed), { output: 'added taken 0', passed: true })
  const failed = binary(TESTS, `${ALL}; return false`, ['take'])
  assert.deepEqual(await show(folder, failed), { output: 'taken 1', passed: false })
})

test('a binary without tests, and one whose tests cannot be run', async () => {
  assert.deepEqual(await show(folder, binary('{}', 'return true')), { output: '' })
  const { error, ...rest } = await show(folder, binary(TESTS, "throw new TypeError('no runner')"))
  assert.deepEqual(rest, { output: '', passed: false })
  assert.match(error, /^TypeError: no runner\n\s+at .*run/)
})

test('a page that is left, and one that never ends', async () => {
  const leaves = binary(TESTS, `location.href = 'about:blank'; ${NEVER}`)
  await assert.rejects(show(folder, leaves), /^Error: the page crashed$/)
  await assert.rejects(
    show(folder, binary(TESTS, NEVER), { patience: 3000 }),
    /^Error: not done after 0\.05 min/,
  )
})

/** A server that tells when it is asked: by a page of Rust tests, which is of another origin. */
async function listen(asked) {
  const headers = {
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
  }
  const server = createServer((_, response) => {
    response.writeHead(204, headers).end()
    asked()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { port: server.address().port, close }
}

/** The processes that descend from one whose command names the folder, by a part of their own command. */
function descendants(part) {
  if (process.platform !== 'linux') return []
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const read = (id, file) => {
    try {
      return readFileSync(join('/proc', id, file), 'utf8')
    } catch {
      // It has ended.
      return ''
    }
  }
  const isOurs = (id) =>
    id > 1 &&
    (read(id, 'cmdline').includes(folder) || isOurs(/PPid:\t(\d+)/.exec(read(id, 'status'))?.[1]))
  return all.filter((id) => read(id, 'cmdline').includes(part) && isOurs(id)).map(Number)
}

test(
  'a page whose process is killed, and a browser that is',
  { skip: process.platform !== 'linux' },
  async () => {
    for (const [part, said] of [
      ['--type=renderer', /^Error: the page crashed$/],
      [`--user-data-dir=`, /^Error: (Chromium ended with|the page crashed)/],
    ]) {
      // A process that is killed before the page is open would leave a browser that opens nothing.
      let timer
      const { port, close } = await listen(() => {
        timer ??= setInterval(() => {
          for (const id of descendants(part)) process.kill(id, 'SIGKILL')
        }, 500)
      })
      const never = binary(TESTS, `await fetch('http://127.0.0.1:${port}/'); ${NEVER}`)
      await assert.rejects(show(folder, never), said).finally(() => {
        clearInterval(timer)
        close()
      })
    }
  },
)
