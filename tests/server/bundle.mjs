// A worker as modules for Miniflare.

/** As wrangler does: the `workerd` condition, and wasm, if it is used, as a module beside the script. */
export async function bundleWorker(entry) {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    outdir: '/',
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2022',
    loader: { '.wasm': 'copy' },
    assetNames: '[name]',
  })
  const [script, wasm] = ['.js', '.wasm'].map((end) =>
    outputFiles.find((file) => file.path.endsWith(end)),
  )
  return [
    { type: 'ESModule', path: 'worker.mjs', contents: script.text },
    ...(wasm ? [{ type: 'CompiledWasm', path: 'turnlock.wasm', contents: wasm.contents }] : []),
  ]
}
