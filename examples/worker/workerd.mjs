// The worker on this machine, as `wrangler dev` runs it: workerd, with the Durable Objects of
// wrangler.jsonc kept in `.turns`.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'

const { BASE_URL, OPENAI_API_KEY, MODEL, PROXY_MODE, PORT, CHAT_USERS } = process.env

// The `workerd` condition, and wasm as a module beside the script.
await build({
  ...{ entryPoints: ['app.mjs'], bundle: true, format: 'esm', outdir: 'dist' },
  ...{ conditions: ['workerd', 'worker', 'browser'], target: 'es2022' },
  ...{ loader: { '.wasm': 'copy' }, assetNames: '[name]', logLevel: 'warning' },
})
const modules = readdirSync('dist').map((path) => ({
  type: path.endsWith('.wasm') ? 'CompiledWasm' : 'ESModule',
  path,
  contents: readFileSync(join('dist', path)),
}))

const given = { BASE_URL, OPENAI_API_KEY, MODEL, PROXY_MODE }
const worker = new Miniflare({
  modules: modules.toSorted((a) => (a.type === 'ESModule' ? -1 : 1)), // the first is the worker
  compatibilityDate: '2025-05-01',
  compatibilityFlags: ['enable_request_signal', 'request_signal_passthrough'],
  bindings: {
    CHAT_USERS: CHAT_USERS ?? '{"let-me-in":"me"}',
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)),
  },
  durableObjects: { TENANTS: { className: 'Tenant', useSQLite: true } },
  durableObjectsPersist: '.turns',
  host: '127.0.0.1',
  port: Number(PORT ?? 8787),
})
console.log(`listening on ${(await worker.ready).origin}/api/chat`)
