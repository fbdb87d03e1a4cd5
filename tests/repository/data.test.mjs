// What others wrote is shipped with its licence, and says where it is from.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import test from 'node:test'
import { root } from '../../scripts/setup.mjs'

const DATA = join(root, 'tests/data')
/** In bytes, all files together. */
const MOST = 8_000_000

const folders = readdirSync(DATA).filter(
  (name) => name !== 'LICENSES' && statSync(join(DATA, name)).isDirectory(),
)
const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile())
const read = (file) => readFileSync(file, 'utf8')

for (const name of folders) {
  const folder = join(DATA, name)
  const licences = filesBelow(folder)
    .filter((file) => relative(folder, file).startsWith('LICENSE'))
    .map(read)

  test(`${name} has its provenance and the text of its licences`, () => {
    const provenance = read(join(folder, 'PROVENANCE.md'))
    assert.ok(licences.length > 0, 'no LICENSE file')
    const licenceText = licences.join('\n')
    if (/\bMIT\b/.test(provenance)) {
      assert.match(licenceText, /Copyright \(c\)|Copyright \d{4}/)
      assert.match(licenceText, /Permission is hereby granted, free of charge/)
    }
    if (/Apache-2\.0/.test(provenance) && !/Grant of Patent License/.test(licenceText)) {
      assert.match(licenceText, /\.\.\/LICENSES\/Apache-2\.0\.txt/)
    }
    for (const text of [provenance, ...licences]) {
      for (const [path] of text.matchAll(/[\w./+-]*LICENSE[\w./+-]*\.(?:txt|md)\b/g)) {
        assert.ok(existsSync(join(folder, path)), `${path} is not there`)
      }
    }
  })
}

test('the Apache License is there in full', () => {
  const text = read(join(DATA, 'LICENSES/Apache-2.0.txt'))
  assert.match(text, /Version 2\.0, January 2004[^]*END OF TERMS AND CONDITIONS/)
})

test('the README names every folder, and all of it stays small', () => {
  const readme = read(join(DATA, 'README.md'))
  for (const name of folders) assert.ok(readme.includes(`\`${name}\``), name)
  const bytes = filesBelow(DATA).reduce((sum, file) => sum + statSync(file).size, 0)
  assert.ok(bytes <= MOST, `${bytes} bytes`)
})
