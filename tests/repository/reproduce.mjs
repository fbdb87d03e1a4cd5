// Whether a build is the same bit for bit: builds the last commit in two clones, in folders whose names
// differ in length, each with a target folder of its own, and compares every file of the package.
//
//   node tests/repository/reproduce.mjs [--here]
//
// `--here`: and with what is built here, which is what would be published.
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/setup.mjs'
import { command, main } from '../../scripts/tasks.mjs'

const BUILT = ['pkg/wasm', 'pkg/dist']

/** The SHA-256 of each file, by its path. */
function hashes(clone) {
  const all = {}
  for (const folder of BUILT) {
    for (const path of readdirSync(join(clone, folder), { recursive: true }).sort()) {
      const file = join(clone, folder, path)
      if (!statSync(file).isFile()) continue
      all[join(folder, path)] = createHash('sha256').update(readFileSync(file)).digest('hex')
    }
  }
  return all
}

await main(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnlock-reproduce-'))
  try {
    const built = []
    for (const name of ['a', 'another-folder-with-a-longer-name']) {
      const clone = join(folder, name)
      await command('git', ['clone', '--quiet', root, clone])
      const env = { ...process.env, CARGO_TARGET_DIR: join(folder, `target-${name}`) }
      await command(process.execPath, ['scripts/build.mjs'], { cwd: clone, env })
      built.push(hashes(clone))
    }
    if (process.argv.includes('--here')) built.push(hashes(root))
    const [one, ...others] = built
    const paths = [...new Set(built.flatMap(Object.keys))]
    const differ = paths.filter((path) => others.some((other) => one[path] !== other[path]))
    for (const path of differ) console.log(`differs: ${path}`)
    const digest = createHash('sha256').update(JSON.stringify(one)).digest('hex')
    console.log(`${paths.length} files, ${differ.length} differ; SHA-256 of all: ${digest}`)
    for (const path of paths.filter((one) => one.endsWith('.wasm'))) {
      console.log(`${one[path]}  ${path}`)
    }
    if (differ.length > 0) throw new Error('two builds of one commit differ')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
