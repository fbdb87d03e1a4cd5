// The files of docs/testing.md, as they are written there, each in a process of its own.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import test, { after } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = new URL('../../', import.meta.url)
const text = readFileSync(new URL('docs/testing.md', root), 'utf8')
// In the repository, so that the package is found by its name.
const folder = new URL('.cache/testing-document/', root)
mkdirSync(folder, { recursive: true })
after(() => rmSync(folder, { recursive: true }))

const sections = text.split(/^## /m).slice(1)
for (const [at, section] of sections.entries()) {
  const [title] = section.split('\n', 1)
  test(title, async () => {
    const [, code] = /```js\n([^]*?)```/.exec(section) ?? []
    assert.ok(code?.includes('assert.'), 'the section has a file that asserts something')
    const file = new URL(`${at}.mjs`, folder)
    writeFileSync(file, `${code}\nconsole.log('done')\n`)
    const { stdout } = await promisify(execFile)(process.execPath, [fileURLToPath(file)])
    assert.equal(stdout, 'done\n')
  })
}

test('every name of the entry is in the document', async () => {
  for (const name of Object.keys(await import('turnlock/testing'))) {
    assert.match(text, new RegExp(`\`${name}[(\`]`), name)
  }
})
