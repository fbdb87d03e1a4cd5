// The worker on this machine, as `wrangler dev` runs it: built, and in workerd.
import { readFileSync } from 'node:fs'
import { Miniflare } from 'miniflare'
import { buildWorker } from './build.mjs'

const { BASE_URL, OPENAI_API_KEY, MODEL, PORT } = process.env

await buildWorker()
const module = (type, path) => ({ type, path, contents: readFileSync(`dist/${path}`) })
const given = Object.entries({ BASE_URL, OPENAI_API_KEY, MODEL }).filter(([, value]) => value)
const worker = new Miniflare({
  modules: [module('ESModule', 'worker.mjs'), module('CompiledWasm', 'rust_worker_bg.wasm')],
  compatibilityDate: '2025-05-01',
  compatibilityFlags: ['enable_request_signal'],
  bindings: Object.fromEntries(given),
  host: '127.0.0.1',
  port: Number(PORT ?? 8787),
})
console.log(`listening on ${(await worker.ready).origin}/chat`)
