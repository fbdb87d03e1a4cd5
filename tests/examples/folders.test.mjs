// No example that no test starts, and none that a user could not copy.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { root } from '../../scripts/setup.mjs'
import { complaints } from './folders.mjs'

const read = (...path) => readFileSync(join(root, ...path), 'utf8')
const json = (...path) => JSON.parse(read(...path))
const { version } = json('pkg/package.json')
const known = {
  versions: {
    ...json('package.json').devDependencies,
    ...json('tests/package.json').devDependencies,
    turnlock: version,
  },
  peers: (name) => Object.keys(json('node_modules', name, 'package.json').peerDependencies ?? {}),
  starter: read('examples/node-redis/start.mjs'),
}
const entries = readdirSync(join(root, 'examples'), { withFileTypes: true })
const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)

/** An action is used by a workflow, and started by its own test. */
const started = folders.filter((name) => !existsSync(join(root, 'examples', name, 'action.yml')))

test('each folder has a test of its name, which starts it; each file a test that names it', () => {
  const tests = readdirSync(join(root, 'tests/examples'))
    .filter((file) => file.endsWith('.test.mjs') && file !== 'folders.test.mjs')
    .map((file) => file.replace('.test.mjs', ''))
  assert.deepEqual(tests.toSorted(), [...folders, 'rust-blocking'].toSorted())
  for (const name of started) {
    const text = read('tests/examples', `${name}.test.mjs`)
    assert.match(text, /\b(example|chat)\(import\.meta\b/, `${name} is not started`)
  }
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  assert.deepEqual(files.toSorted(), ['blocking.rs', 'build.mjs'])
  assert.match(read('tests/examples/rust-blocking.test.mjs'), /'--example', 'blocking'/)
})

for (const name of started) {
  test(`${name}: one command, a short README, its packages in the versions that are tested`, () => {
    assert.deepEqual(complaints(join(root, 'examples', name), known), [])
  })
}

test('what is missing in a folder is found', (t) => {
  const home = mkdtempSync(join(tmpdir(), 'turnlock-folder-'))
  t.after(() => rmSync(home, { recursive: true }))
  const folder = join(home, 'one')
  mkdirSync(folder)
  const write = (name, text) => writeFileSync(join(folder, name), text)
  const versions = { turnlock: '2.0.0', vite: '1.0.0', a: '1.0.0', b: '1.0.0' }
  const peers = (name) => (name === 'turnlock' ? ['b'] : [])
  const said = () => complaints(folder, { versions, peers, starter: 'x' })
  write('README.md', `# One\n\nnpm start\n`)
  assert.deepEqual(said(), ['package.json and README.md are needed'])
  const manifest = { name: 'turnlock-one', scripts: { start: 'vite' } }
  const packages = (dependencies) =>
    write('package.json', JSON.stringify({ ...manifest, dependencies }))
  packages({ turnlock: '2.0.0', vite: '1.0.0', b: '1.0.0' })
  write('main.js', "import 'turnlock/chat'\nimport { x } from 'node:fs'\nimport y from './y.js'\n")
  write('start.mjs', 'x')
  assert.deepEqual(said(), [])
  write('start.mjs', 'y')
  write('README.md', `# One\n\nvite\n${'.\n'.repeat(30)}`)
  write('App.jsx', "import b from '@b/c/d'\nconst d = await import('e')\n")
  write(
    'package.json',
    JSON.stringify({ name: 'two', dependencies: { turnlock: '1.0.0', a: '1.0.0' } }),
  )
  assert.deepEqual(said(), [
    'README.md has 33 lines',
    'README.md tells no npm start',
    'its name is two',
    'package.json has no start',
    '@b/c is missing',
    'e is missing',
    'turnlock is 1.0.0 and not 2.0.0',
    'a is not used',
    'start.mjs is another one',
  ])
})
