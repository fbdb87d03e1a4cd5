// Objects of a worker in workerd, and what their tools do outside of it.
import assert from 'node:assert/strict'
import { builtinModules } from 'node:module'
import { build } from 'esbuild'
import { Miniflare } from 'miniflare'
import { until } from '../patience.mjs'

/** Counts effects, and holds those back that a test wants to have held. */
export class Gate {
  counts = new Map()
  #held = new Set()
  #release = []

  hold(path) {
    this.#held.add(path)
  }

  open(path) {
    this.#held.delete(path)
    for (const one of this.#release.splice(0)) one()
  }

  count = (path) => this.counts.get(path) ?? 0

  fetch = async (request) => {
    const path = new URL(request.url).pathname.slice(1)
    this.counts.set(path, this.count(path) + 1)
    if (this.#held.has(path)) await new Promise((resolve) => this.#release.push(resolve))
    return new Response(`did ${path}`)
  }
}

/** Modules of Node.js by their old names, which a package without `import` may require. */
const builtins = {
  name: 'modules of Node.js',
  setup({ onResolve, onLoad }) {
    const isBuiltin = (path) => builtinModules.includes(path)
    onResolve({ filter: /^[\w/]+$/ }, ({ path, kind }) =>
      kind === 'require-call' && isBuiltin(path) ? { path, namespace: 'builtin' } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `export * from 'node:${path}'; export { default } from 'node:${path}'`,
    }))
  },
}

/** Starts a worker with these classes. `gate` is replaced by each test. */
export async function startObjects(
  entry,
  classes,
  { packages, date = '2025-05-01', flags = [] } = {},
) {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    outdir: '/',
    conditions: ['workerd', 'worker', 'browser'],
    target: 'es2022',
    external: ['cloudflare:*', 'node:*', 'workerd:*'],
    loader: { '.wasm': 'copy' },
    assetNames: '[name]',
    plugins: [builtins],
    ...(packages && { nodePaths: [packages] }),
  })
  const output = (end) => outputFiles.find(({ path }) => path.endsWith(end))
  const objects = { gate: new Gate() }
  const workerd = new Miniflare({
    compatibilityDate: date,
    compatibilityFlags: ['unsafe_module', ...flags],
    modules: [
      { type: 'ESModule', path: 'worker.mjs', contents: output('.js').text },
      { type: 'CompiledWasm', path: 'turnlock.wasm', contents: output('.wasm').contents },
    ],
    durableObjects: Object.fromEntries(
      classes.map((className) => [className, { className, useSQLite: true }]),
    ),
    serviceBindings: { GATE: (request) => objects.gate.fetch(request) },
  })
  const send = async (path, ...what) => {
    const init = { method: 'POST', body: JSON.stringify(what) }
    return workerd.dispatchFetch(`http://x/${path}`, init)
  }
  /** Asks an object to do something. */
  const ask = async (path, ...what) => {
    const text = await (await send(path, ...what)).text()
    const { value, error } = JSON.parse(text)
    if (error) throw Object.assign(new Error(error.message), { code: error.code })
    return value
  }
  /** Opens a socket that collects what it is sent. */
  const socket = async (path) => {
    const headers = { upgrade: 'websocket' }
    const { status, webSocket } = await workerd.dispatchFetch(`http://x/${path}`, { headers })
    if (!webSocket) return { status }
    const got = []
    webSocket.addEventListener('message', ({ data }) => got.push(JSON.parse(data)))
    webSocket.accept()
    const events = () => got.filter(({ type }) => type === 'turnlock:event').map((one) => one.event)
    return {
      status,
      got,
      events,
      send: (message) => webSocket.send(JSON.stringify(message)),
      close: () => webSocket.close(),
      /** The first event of a type, once it is there. */
      async event(type) {
        await until(async () => events().some((event) => event.type === type))
        return events().find((event) => event.type === type)
      },
      async error() {
        await until(async () => got.some(({ type }) => type === 'turnlock:error'))
        return got.find(({ type }) => type === 'turnlock:error').code
      },
    }
  }
  /** The status of a turn; undefined from an object that ends while it is asked. */
  const status = (path, tenant, requestId) =>
    ask(path, 'status', tenant, requestId).catch((error) => {
      if (error instanceof SyntaxError) return undefined
      throw error
    })
  return Object.assign(objects, {
    ask,
    socket,
    /** Waits until a turn has this status. */
    has: (path, tenant, requestId, wanted) =>
      until(async () => (await status(path, tenant, requestId)) === wanted),
    /** Ends the instance of an object; the request that asks for it fails. */
    end: async (path) => assert.ok(!(await send(path, 'end').catch(() => ({ ok: false }))).ok),
    dispose: () => workerd.dispose(),
  })
}

/** The numbers of events have no gap and no repetition. */
export function whole(events) {
  assert.deepEqual(
    events.map(({ seq }) => seq),
    events.map((_, at) => at + 1),
  )
}
