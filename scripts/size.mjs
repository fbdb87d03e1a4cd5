// What the package weighs: the wasm, and everything that `import … from "turnlock"` pulls in.
// Beside it the examples in Rust, once they have been built.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { root } from './setup.mjs'

/**
 * Bytes after gzip. The turn and histories were 160 and 225 KiB; what came since is in
 * BENCHMARKS.md, part by part. All of it is one module: see DESIGN.md §4.35. Typed events and
 * results, and the names that options are checked against, cost about 13 KiB of
 * wasm, and more of the whole import: to be won back.
 */
const LIMITS = {
  ...{ wasm: 322 * 1024, 'whole import, minified': 440 * 1024 },
  ...{ 'example page in Rust, wasm': 250 * 1024, 'example worker in Rust, wasm': 261 * 1024 },
}

const bundle = await build({
  stdin: { contents: "export * from 'turnlock'", resolveDir: root },
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  write: false,
})
const parts = {
  wasm: readFileSync(join(root, 'pkg/dist/turnlock.wasm')),
  'whole import, minified': bundle.outputFiles[0].contents,
}
for (const name of ['page', 'worker']) {
  const wasm = join(root, `examples/rust-${name}/dist/rust_${name}_bg.wasm`)
  if (existsSync(wasm)) parts[`example ${name} in Rust, wasm`] = readFileSync(wasm)
}
let over = false
for (const [name, bytes] of Object.entries(parts)) {
  const gzip = gzipSync(bytes, { level: 9 }).length
  over ||= gzip > LIMITS[name]
  console.log(`${name}: ${bytes.length} bytes, ${gzip} gzip (at most ${LIMITS[name]})`)
}
if (process.argv.includes('--check') && over) process.exit(1)
