// Is everything ready to be published? Versions that agree, an entry in the changelog, the examples
// in Rust and what everything weighs, and a dry run of each publication, with what it holds.
// npm run release:check
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cargoEnv, root } from './setup.mjs'
import { build } from './build.mjs'
import { buildPage } from '../examples/build.mjs'
import { buildWorker } from '../examples/rust-worker/build.mjs'

const read = (path) => readFileSync(join(root, path), 'utf8')
const run = (program, args, cwd = root) => {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    env: { ...cargoEnv },
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}\n${stderr}${stdout}`)
  return stdout + stderr
}

const { version } = JSON.parse(read('pkg/package.json'))
for (const path of ['Cargo.toml', 'crates/client/Cargo.toml']) {
  if (!read(path).includes(`\nversion = "${version}"`)) {
    throw new Error(`${path} has another version than pkg/package.json: ${version}`)
  }
}
const tag = process.env.RELEASE_TAG
if (tag && tag !== `v${version}`) throw new Error(`the tag ${tag} is not v${version}`)
if (tag && !read('CHANGELOG.md').includes(`\n## ${version}`)) {
  throw new Error(`CHANGELOG.md has no section ${version}`)
}

await build()
for (const page of ['rust-page', 'rust-leptos']) await buildPage(page)
await buildWorker()
const weighed = run(process.execPath, ['benches/size/size.mjs', '--check'])
for (const [line] of weighed.matchAll(/^example .*$/gm)) console.log(line)
// A release that is started again may have published this version, of which npm 11 makes no dry run.
const view = spawnSync('npm', ['view', `turnlock@${version}`, 'version'], { encoding: 'utf8' })
const again = tag && view.stdout?.trim() === version ? ['--force'] : []
const packed = run('npm', ['publish', '--dry-run', '--json', ...again], join(root, 'pkg'))
// By the package's name, or, of older versions of npm, at once.
const summary = JSON.parse(/\{[\s\S]*\}/.exec(packed)[0])
const { name, size, unpackedSize, files } = summary.files ? summary : Object.values(summary)[0]
console.log(
  `npm: ${name} ${version}, ${files.length} files, ${size} bytes packed, ${unpackedSize} unpacked`,
)
const crates = ['turnlock', 'turnlock-client'].flatMap((crate) => ['--package', crate])
const output = run('cargo', [
  'publish',
  ...crates,
  '--dry-run',
  '--locked',
  ...process.argv.slice(2),
])
for (const [line] of output.matchAll(/^ *Packaged .*$/gm)) console.log(line.trim())
console.log('ready')
