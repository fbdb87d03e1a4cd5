// The page, the built package and the scripted model on one origin.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { extname, join, normalize } from 'node:path'
import { BEHAVIOURS } from '../tests/provider/behaviours.mjs'
import { createSessions, listener } from '../tests/provider/server.mjs'
import { DOCS } from './docs.mjs'
import { root } from './setup.mjs'

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Import maps must stand in the page, so the one line of inline script is named by its hash. */
const imports = JSON.stringify({
  imports: {
    turnlock: './dist/page/turnlock.js',
    'turnlock/proxy': './turnlock/proxy/index.js',
    'turnlock/remote': './turnlock/remote/index.js',
    'turnlock/stores/indexeddb': './turnlock/stores/indexeddb.js',
    'scripted-model': './provider/sessions.mjs',
  },
})
const hashOf = (script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`
const POLICY = [
  "default-src 'self'",
  `script-src 'self' 'wasm-unsafe-eval' ${hashOf(imports)}`,
  "img-src 'self' data:",
  // A real endpoint may be anywhere.
  "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The documentation: its generators write scripts and styles into the pages. */
function policyOfDocs(html) {
  const inline = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script]) =>
    hashOf(script),
  )
  return POLICY.replace(hashOf(imports), [...new Set(inline)].join(' ')).replace(
    "default-src 'self'",
    "default-src 'self'; style-src 'self' 'unsafe-inline'",
  )
}

/**
 * What stands where: the longer paths first. The pages in Rust and the documentation are there once
 * they have been built.
 */
const FOLDERS = {
  '/docs/': DOCS,
  '/turnlock/': 'pkg/dist',
  '/rust-page/': 'examples/rust-page/dist',
  '/rust-leptos/': 'examples/rust-leptos/dist',
  // The scripted model, for what the page plays without a server.
  '/provider/': 'tests/provider',
  '/': 'www',
}

const about = Object.entries(BEHAVIOURS).map(([name, one]) => [name, one.about])
const behaviours = JSON.stringify(Object.fromEntries(about))

/**
 * A page with its bundle, its import map for whoever opens the console, its policy, and what the
 * scripted model can do; `docs`: whether the documentation stands beside it.
 */
export const page = (text, docs = existsSync(join(root, DOCS, 'index.html'))) => ({
  html: text
    .replace('"./src/main.js"', '"./dist/page/main.js"')
    .replace(
      /<script type="importmap".*?<\/script>/,
      () => `<script type="importmap">${imports}</script>`,
    )
    .replace(/ *<a href="\.\/docs\/.*\n/, (link) => (docs ? link : '')),
  policy: POLICY,
  behaviours,
})

async function file(path) {
  if (path === '/behaviours.json') return { body: behaviours, policy: POLICY }
  const [prefix, from] = Object.entries(FOLDERS).find(([prefix]) => path.startsWith(prefix))
  const [folder, rest] = [join(root, from), path.slice(prefix.length)]
  const isFolder = rest === '' || /[^/]\/$/.test(rest)
  const wanted = normalize(join(folder, isFolder ? `${rest}index.html` : rest))
  if (!wanted.startsWith(folder)) return undefined
  const body = await readFile(wanted).catch(() => undefined)
  if (!body || !wanted.endsWith('.html')) return { body, policy: POLICY }
  if (from === DOCS) return { body, policy: policyOfDocs(String(body)) }
  return { body: page(String(body)).html, policy: POLICY }
}

/** Starts on `port`, or the next free one. */
export async function serve({ port = 0, tries = 20 } = {}) {
  const sessions = createSessions()
  const model = listener(sessions, '/model')
  // Not at the top: the package may be built only now.
  const { createEdge } = await import('./edge.mjs')
  const edge = createEdge(sessions)
  const server = createServer(async (request, response) => {
    // Not by `URL`: what it refuses, such as `//`, would end the process.
    const [pathname] = request.url.split('?')
    if (pathname.startsWith('/model/')) return model(request, response)
    if (/^\/edge(-owner|\/|$)/.test(pathname)) return edge(request, response)
    const { body, policy } = (await file(pathname)) ?? {}
    if (body === undefined) return response.writeHead(404).end('not found')
    const type = TYPES[extname(pathname) || '.html'] ?? 'application/octet-stream'
    response.writeHead(200, {
      ...{ 'content-type': type, 'content-security-policy': policy, 'cache-control': 'no-cache' },
      'x-content-type-options': 'nosniff',
    })
    response.end(body)
  })
  for (let at = port; ; at++) {
    try {
      await new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen(at, '127.0.0.1', resolve)
      })
      break
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || at >= port + tries) throw error
    }
  }
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://localhost:${server.address().port}/`, close }
}
