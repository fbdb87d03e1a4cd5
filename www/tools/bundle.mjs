// The scripts of the page, bundled: as modules of their own they are 170 requests, and the page is
// there in twice the time. And the page as `turnlock serve` has it, in the package.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/setup.mjs'

/** Relative to the root. */
export const PAGE = 'www/dist/page'

const options = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  splitting: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  logLevel: 'error',
}

export async function bundlePage() {
  const { build } = await import('esbuild')
  rmSync(join(root, PAGE), { recursive: true, force: true })
  await build({
    ...options,
    // The package beside it is the page's own instance, for the console and `init()`.
    entryPoints: {
      main: 'www/src/main.js',
      turnlock: 'pkg/dist/index.js',
      evidence: 'pkg/dist/evidence/index.js',
      planning: 'pkg/dist/planning/index.js',
      chain: 'pkg/dist/chain/index.js',
    },
    outdir: PAGE,
    sourcemap: true,
  })
}

/**
 * Leaves the package beside a bundle of it: `to` is the way to `dist`, relative to the bundle. The
 * entries `bundled` become part of the bundle.
 */
export const besides = (to, bundled = []) => {
  const { exports } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
  return {
    name: 'beside the package',
    setup({ onResolve }) {
      onResolve({ filter: /^turnlock(\/|$)/ }, ({ path }) => {
        if (bundled.includes(path)) return undefined
        const entry = exports[`.${path.slice('turnlock'.length)}`]
        if (!entry) throw new Error(`the package has no ${path}`)
        return { path: entry.default.replace('./dist', to), external: true }
      })
    },
  }
}

/** The entries that whoever opens the console has. */
const NAMES = ['', '/evidence', '/planning', '/chain', '/proxy', '/remote', '/stores/indexeddb']

/**
 * What the page of the package is: one sheet, its own scripts, and the modules of the package, which
 * stand at `./turnlock/`. Without the guides, which are not in the package's page.
 */
function served(text) {
  const { exports } = JSON.parse(readFileSync(join(root, 'pkg/package.json'), 'utf8'))
  const at = (name) => exports[`.${name}`].default.replace('./dist', './turnlock')
  const imports = Object.fromEntries(NAMES.map((name) => [`turnlock${name}`, at(name)]))
  const changes = [
    [
      /( *<link rel="stylesheet".*\n)+/,
      '    <link rel="stylesheet" href="./turnlock/page/style.css" />\n',
    ],
    ['"./src/main.js"', '"./turnlock/page/main.js"'],
    [/(<script type="importmap">)(?=<\/script>)/, `$1${JSON.stringify({ imports })}`],
    [/ *<a href="\.\/docs\/.*\n/, ''],
  ]
  for (const [what, by] of changes) {
    const made = text.replace(what, by)
    if (made === text) throw new Error(`the page has no ${what}`)
    text = made
  }
  return text
}

/** Writes the page of the package to `dist/page`. */
export async function bundleServed(dist) {
  const { build } = await import('esbuild')
  const html = readFileSync(join(root, 'www/index.html'), 'utf8')
  const sheets = Array.from(html.matchAll(/rel="stylesheet" href="(.+?)"/g), ([, path]) => path)
  const outdir = join(dist, 'page')
  mkdirSync(outdir)
  writeFileSync(join(outdir, 'index.html'), served(html))
  const contents = sheets.map((path) => `@import "${path}";`).join('\n')
  await Promise.all([
    build({
      ...options,
      splitting: false,
      stdin: { contents, loader: 'css', resolveDir: join(root, 'www') },
      outfile: join(outdir, 'style.css'),
    }),
    build({
      ...options,
      entryPoints: ['www/src/main.js'],
      // The page uses a few of the many modules of this entry.
      plugins: [besides('..', ['turnlock/testing'])],
      outdir,
    }),
  ])
}
