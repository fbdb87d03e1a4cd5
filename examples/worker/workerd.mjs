// The worker on this machine, as `wrangler dev` runs it: workerd, with the settings of
// wrangler.jsonc; its Durable Objects are kept in `.turns`.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'

const { BASE_URL, OPENAI_API_KEY, MODEL, PROXY_MODE, PORT, CHAT_USERS } = process.env
// JSON with comments, and with commas behind last members.
const text = readFileSync('wrangler.jsonc', 'utf8').replace(/^ *\/\/.*$/gm, '')
const settings = JSON.parse(text.replace(/,(?=\s*[}\]])/g, ''))

// The `workerd` condition, and wasm as a module beside the script.
await build({
  entryPoints: ['app.mjs'],
  bundle: true,
  format: 'esm',
  outdir: 'dist',
  conditions: ['workerd', 'worker', 'browser'],
  target: 'es2022',
  loader: { '.wasm': 'copy' },
  assetNames: '[name]',
  logLevel: 'warning',
})
const modules = readdirSync('dist').map((path) => ({
  type: path.endsWith('.wasm') ? 'CompiledWasm' : 'ESModule',
  path,
  contents: readFileSync(join('dist', path)),
}))

const given = { BASE_URL, OPENAI_API_KEY, MODEL, PROXY_MODE, CHAT_USERS }
const worker = new Miniflare({
  modules: modules.toSorted((a) => (a.type === 'ESModule' ? -1 : 1)), // the first is the worker
  compatibilityDate: settings.compatibility_date,
  compatibilityFlags: settings.compatibility_flags,
  bindings: {
    ...settings.vars,
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)),
  },
  durableObjects: Object.fromEntries(
    settings.durable_objects.bindings.map(({ name, class_name: className }) => [
      name,
      { className, useSQLite: true },
    ]),
  ),
  durableObjectsPersist: '.turns',
  host: '127.0.0.1',
  port: Number(PORT ?? 8787),
})
console.log(`listening on ${(await worker.ready).origin}/api/chat`)
