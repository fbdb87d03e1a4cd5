// What the npm package weighs, packed and unpacked, and its largest parts. npm run bench -- package
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const pkg = join(import.meta.dirname, '../pkg')
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', pkg], { encoding: 'utf8' }),
)
const kb = (bytes) => (bytes / 1000).toFixed(0)
/** What a file is for. */
const KINDS = [
  ['the core as one file', /^dist\/turnlock\.wasm$/],
  ['everything in one file', /^dist\/turnlock\.browser\.js$/],
  ['the parts of the core, embedded', /^dist\/wasm\//],
  ['the package without them (`slim`)', /^dist\/slim\//],
  ['the command', /^dist\/cli\.js$/],
  ['the page of `turnlock serve`', /^dist\/page\//],
  ['declarations', /\.d\.ts$/],
  ['the package', /^dist\//],
  ['guides', /^docs\//],
  ['others', /./],
]
const sums = Object.fromEntries(KINDS.map(([kind]) => [kind, { files: 0, bytes: 0 }]))
for (const { path, size } of packed.files) {
  const [kind] = KINDS.find(([, form]) => form.test(path))
  sums[kind].files += 1
  sums[kind].bytes += size
}
console.log('| | files | KB |\n|---|---|---|')
for (const [kind, { files, bytes }] of Object.entries(sums)) {
  console.log(`| ${kind} | ${files} | ${kb(bytes)} |`)
}
console.log(`| all, unpacked | ${packed.files.length} | ${kb(packed.unpackedSize)} |`)
console.log(`| all, packed | | ${kb(packed.size)} |`)
