// The address has one place, and a link that leads nowhere is found.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { crateManifest, deadLinks, npmManifest } from './links.mjs'

const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8')
const ADDRESS = 'https://code.example/someone/turnlock'

test('the address is written into both manifests, and taken away again', () => {
  const [npm, crate] = [read('pkg/package.json'), read('Cargo.toml')]
  const own = JSON.parse(npmManifest(npm, ADDRESS))
  assert.equal(own.repository.url, `git+${ADDRESS}.git`)
  assert.equal(own.homepage, `${ADDRESS}#readme`)
  assert.equal(own.bugs.url, `${ADDRESS}/issues`)
  const written = crateManifest(crate, ADDRESS)
  assert.match(written, new RegExp(`^\\[package\\]\n(?:.+\n)*?repository = "${ADDRESS}"$`, 'm'))
  assert.equal(crateManifest(written, ADDRESS), written)
  assert.equal(crateManifest(written, undefined), crateManifest(crate, undefined))
  assert.equal(npmManifest(npmManifest(npm, ADDRESS), undefined), npmManifest(npm, undefined))
})

test('dead links are found, in prose only', () => {
  const text = [
    '# One thing, *two*',
    '[a](#one-thing-two) [b](#elsewhere) [c](there.md) [d](gone.md#x) [e](https://x.example)',
    '```js',
    'list[0](gone)',
    '```',
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
