// The core knows no JavaScript, no clock and no randomness; the crate has only the
// dependencies that DESIGN.md gives a reason for; the npm package has none.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './setup.mjs'

const wrong = []
const BANNED = /js_sys|web_sys|wasm_bindgen|Instant::now|SystemTime|HashMap|HashSet|getrandom/
for (const file of readdirSync(join(root, 'src'), { recursive: true })) {
  if (!file.endsWith('.rs') || /^(wasm|client)/.test(file)) continue
  const lines = readFileSync(join(root, 'src', file), 'utf8').split('\n')
  lines.forEach((line, at) => {
    if (BANNED.test(line.replace(/\/\/.*/, ''))) wrong.push(`src/${file}:${at + 1}: ${line.trim()}`)
  })
}

const ALLOWED = [
  ...['sha2', 'zmij', 'wasm-bindgen'],
  // Of the feature `client` alone.
  ...['futures', 'getrandom', 'gloo-net', 'gloo-timers', 'idb', 'js-sys', 'jsonschema', 'serde'],
  ...['serde_json', 'serde-wasm-bindgen', 'wasm-bindgen-futures', 'web-sys'],
]
const { dependencies } = JSON.parse(
  execFileSync('cargo', ['metadata', '--format-version', '1', '--no-deps', '--locked'], {
    cwd: root,
    encoding: 'utf8',
  }),
).packages.find(({ name }) => name === 'turnlock')
for (const { name, kind } of dependencies) {
  if (kind === null && !ALLOWED.includes(name)) wrong.push(`a dependency without a reason: ${name}`)
}

const manifest = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
for (const key of ['dependencies', 'peerDependencies', 'scripts']) {
  if (manifest[key]) wrong.push(`pkg/package.json has ${key}`)
}
for (const file of ['package-lock.json', 'Cargo.lock']) {
  const text = readFileSync(join(root, file), 'utf8')
  if (/"resolved": "http/.test(text)) wrong.push(`${file} names a registry`)
}

for (const line of wrong) console.error(line)
process.exit(wrong.length ? 1 : 0)
