// The pages of ./pages and ./slim, built by the bundlers of docs/sizes.md: each a module with `run`.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import nodeResolve from '@rollup/plugin-node-resolve'
import { build as esbuild } from 'esbuild'
import { rollup } from 'rollup'
import { build as vite } from 'vite'
import webpack from 'webpack'

const folder = fileURLToPath(new URL('pages', import.meta.url))
export const PAGES = readdirSync(folder).map((file) => file.replace('.js', ''))
const entries = Object.fromEntries(PAGES.map((page) => [page, join(folder, `${page}.js`)]))

const slim = (bundler) => ({
  slim: fileURLToPath(new URL(`slim/${bundler}.js`, import.meta.url)),
})

/** Bundler → what builds `turnlock/slim` into a folder as `slim.js`, with the core as a file. */
export const SLIM = {
  esbuild: (dir) => BUNDLERS.esbuild(dir, slim('esbuild')),
  Vite: (dir) => BUNDLERS.Vite(dir, slim('vite')),
  webpack: (dir) => BUNDLERS.webpack(dir, slim('webpack')),
}

/** Bundler → what builds all pages into a folder, as `<page>.js`. */
export const BUNDLERS = {
  esbuild: (outdir, entryPoints = entries) =>
    esbuild({
      entryPoints,
      outdir,
      bundle: true,
      splitting: true,
      minify: true,
      loader: { '.wasm': 'file' },
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      logLevel: 'error',
    }),

  async Rollup(dir) {
    const made = await rollup({
      input: entries,
      plugins: [nodeResolve({ browser: true })],
      preserveEntrySignatures: 'strict',
    })
    await made.write({ dir, format: 'es' })
  },

  Vite: (outDir, input = entries) =>
    vite({
      root: folder,
      base: './',
      logLevel: 'error',
      configFile: false,
      build: {
        outDir,
        emptyOutDir: true,
        target: 'es2022',
        rollupOptions: {
          input,
          preserveEntrySignatures: 'strict',
          output: { entryFileNames: '[name].js' },
        },
      },
    }),

  webpack: (path, entry = entries) =>
    new Promise((resolve, reject) =>
      webpack(
        {
          mode: 'production',
          entry,
          target: ['web', 'es2022'],
          context: folder,
          experiments: { outputModule: true },
          output: { path, filename: '[name].js', module: true, library: { type: 'module' } },
        },
        (error, stats) => {
          if (error) return reject(error)
          if (stats.hasErrors()) return reject(new Error(stats.toString('errors-only')))
          return resolve()
        },
      ),
    ),
}
