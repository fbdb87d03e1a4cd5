// The address has one place, and a link that leads nowhere is found.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { addressOf, crateManifest, deadLinks, npmManifest } from '../../docs/tools/links.mjs'
import { root } from '../../scripts/setup.mjs'

const read = (file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
const ADDRESS = 'https://code.example/someone/turnlock'

test('the address is written into both manifests, and taken away again', () => {
  const [npm, crate] = [read('pkg/package.json'), read('Cargo.toml')]
  const manifest = JSON.parse(npmManifest(npm, ADDRESS))
  assert.equal(manifest.repository.url, `git+${ADDRESS}.git`)
  assert.equal(manifest.homepage, `${ADDRESS}#readme`)
  assert.equal(manifest.bugs.url, `${ADDRESS}/issues`)
  const written = crateManifest(crate, ADDRESS)
  assert.match(written, new RegExp(`^\\[package\\]\n(?:.+\n)*?repository = "${ADDRESS}"$`, 'm'))
  assert.equal(crateManifest(written, ADDRESS), written)
  assert.equal(crateManifest(written, undefined), crateManifest(crate, undefined))
  assert.equal(npmManifest(npmManifest(npm, ADDRESS), undefined), npmManifest(npm, undefined))
})

test('an address is read as npm writes it', () => {
  for (const url of [ADDRESS, `${ADDRESS}.git`, `git+${ADDRESS}.git`, `${ADDRESS}/`]) {
    assert.equal(addressOf(url), ADDRESS)
    assert.equal(addressOf({ type: 'git', url }), ADDRESS)
  }
  assert.equal(addressOf(undefined), undefined)
  assert.throws(() => addressOf('someone/turnlock'), /no https address/)
})

test('links are checked wherever the clone is', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-links-'))
  const clone = join(folder, 'node_modules/target/pkg/.cache/clone')
  const files = ['scripts', 'docs', 'examples/github-action', 'package.json', 'pkg/package.json']
  for (const file of [...files, 'Cargo.toml']) {
    cpSync(join(root, file), join(clone, file), { recursive: true })
  }
  const links = '[gone](gone.md) [no heading](start.md#gone) [start](start.md#in-a-page)'
  writeFileSync(join(clone, 'docs/more.md'), `${links}\n`)
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(clone, 'docs/tools/links.mjs'), '--check'],
    { encoding: 'utf8' },
  )
  rmSync(folder, { recursive: true })
  const messages = ['gone.md', 'start.md#gone'].map((to) => `docs/more.md links to ${to}\n`)
  assert.equal(stderr, messages.join(''))
  assert.equal(status, 1)
})

test('dead links are found, in prose only', () => {
  const text = [
    '# One thing, *two*',
    '[a](#one-thing-two) [b](#elsewhere) [c](there.md) [d](gone.md#x) [e](https://x.example)',
    '```js',
    'list[0](gone)',
    '```',
    '`list[0](gone)` [`f`](#one-thing-two)',
  ].join('\n')
  assert.deepEqual(
    deadLinks(text, (to) => to === 'there.md'),
    ['#elsewhere', 'gone.md#x'],
  )
  assert.deepEqual(
    deadLinks(text, () => true, true),
    ['#elsewhere', 'there.md', 'gone.md#x'],
  )
})
