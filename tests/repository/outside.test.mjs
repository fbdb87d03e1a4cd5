// A path that leads out of the repository is found, however it is written.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { tracked } from '../../scripts/alone.mjs'
import { ALLOWED, outside } from './outside.mjs'
import { root } from '../../scripts/setup.mjs'

/** What is there beside the file that is looked at. */
const TREE = [
  'Cargo.toml',
  'package.json',
  'src/lib.rs',
  'tests/kills/site.mjs',
  'tests/chain/sim.rs',
  'crates/client/Cargo.toml',
  'crates/codegen/Cargo.toml',
  'pkg/src/turn/types.ts',
]
const found = (file, text) => outside([...TREE, file], (one) => (one === file ? text : ''))

for (const [file, text] of [
  ['tests/common/mod.rs', 'repo().join("../shared/x")'],
  ['tests/common/mod.rs', 'repo().join("..").join("shared")'],
  ['tests/common/mod.rs', 'let up = repo().parent();'],
  ['tests/common/mod.rs', 'include_str!("../../../shared/x.json")'],
  ['tests/common/mod.rs', 'concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/x")'],
  ['tests/common/mod.rs', 'let home = std::env::var("HOME");'],
  ['tests/a.mjs', "join(root, '../shared')"],
  ['tests/a.mjs', "join(root, '../src')"],
  ['tests/a.mjs', "join(root, '..', 'shared')"],
  ['tests/a.mjs', "join(root, '..')"],
  ['tests/a.mjs', 'readFileSync(`${root}/../shared/x`)'],
  ['tests/a.mjs', "dirname(root) + '/shared'"],
  ['tests/a.mjs', "readFileSync('../shared/x')"],
  ['tests/a.mjs', "readFileSync('../' + 'shared')"],
  ['tests/a.mjs', "join(here, '..', '..', name)"],
  ['tests/a.mjs', "new URL('../../x', import.meta.url)"],
  ['tests/a.mjs', 'readFileSync(`../../${name}`)'],
  ['tests/a.cjs', "require('../shared/x.cjs')"],
  ['tests/a.mjs', "readFileSync('/home/someone/x')"],
  ['tests/a.mjs', "readFileSync('/root/x')"],
  ['tests/a.mjs', "readdirSync('/work')"],
  ['tests/a.mjs', "const at = '/Users/someone/x'"],
  ['tests/a.mjs', "writeFileSync('/tmp/x', '')"],
  ['tests/a.mjs', "readFileSync('C:/x')"],
  ['tests/a.mjs', "new URL('file:///srv/x')"],
  ['tests/a.mjs', "join(homedir(), 'x')"],
  ['tests/a.mjs', 'const { HOME: at } = process.env.HOME'],
  ['tests/a.json', '{ "path": "../shared/x.json" }'],
  ['tests/a.toml', 'path = "../../shared"'],
  ['README.md', 'see [the data](../shared/README.md)'],
  ['docs/a.md', 'It is in `/work/shared`.'],
  ['.ci/run', 'cat "$HOME/x"'],
]) {
  test(`${file}: ${text}`, () => {
    const places = found(file, `\n${text}\n`)
    assert.ok(places.length > 0)
    for (const place of places) assert.ok(place.startsWith(`${file}:2: `), place)
  })
}

test('what stays inside is fine', () => {
  for (const [file, text] of [
    ['tests/kills/a.mjs', "new URL('../..', import.meta.url)"],
    ['tests/kills/a.mjs', "import x from '../chain/sim.rs'"],
    ['tests/kills/a.mjs', 'new URL(`../../${file}`, import.meta.url)'],
    ['tests/kills/a.mjs', 'read(`../../node_modules/${name}/package.json`)'],
    ['tests/kills/a.mjs', "join(here, '..', 'chain')"],
    ['tests/kills/a.mjs', "for (const one of ['./', '../', '~y'])"],
    ['tests/kills/a.mjs', "mkdtempSync(join(tmpdir(), 'x-'))"],
    ['tests/kills/a.mjs', "fetch('https://a.example/home/x', { path: '/v1/tmp' })"],
    ['tests/a.mjs', "join(dirname(fileURLToPath(import.meta.url)), '..')"],
    ['crates/client/tests/a.rs', 'include_str!("../../../tests/chain/sim.rs")'],
    ['crates/client/src/deep/a.rs', 'concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/lib.rs")'],
    ['crates/client/src/a.rs', 'for n in 0..5 { &list[..]; Some(T { a, .. }) } // see ../..'],
    ['crates/codegen/src/a.rs', '"import x from ../turn/types.js"'],
    ['pkg/src/chain/a.ts', "import { x } from '../turn/types.js'"],
    ['tests/data/a.json', '"/home/someone/../../x"'],
    ['docs/a.md', 'See ../package.json. Or: /usr/bin/env'],
  ]) {
    assert.deepEqual(found(file, text), [], text)
  }
})

test('the repository is fine, and needs every exception', () => {
  const read = (file) => readFileSync(join(root, file), 'utf8')
  const files = tracked()
  assert.deepEqual(outside(files, read), [])
  const texts = files.filter((file) => /\.(rs|mjs|ts)$|^\.ci/.test(file) && !/outside/.test(file))
  const all = texts.map(read).join('\n')
  for (const path of ALLOWED) assert.ok(all.includes(path), `${path} is not needed any more`)
})
