// The page, the built package and the scripted model on one origin.
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { extname, join, normalize } from 'node:path'
import { toNodeListener } from 'turnlock/server'
import { scriptedProvider } from 'turnlock/testing'
import {
  CONTENT_TYPES,
  contentSecurityPolicy,
  createEdge,
  fileHeaders,
  isEdgePath,
} from '../../pkg/dist/local-server.js'
import { DOCS } from '../../docs/tools/site.mjs'
import { root } from '../../scripts/setup.mjs'

/** Import maps must stand in the page, so the one line of inline script is named by its hash. */
const imports = JSON.stringify({
  imports: {
    turnlock: './dist/page/turnlock.js',
    'turnlock/evidence': './dist/page/evidence.js',
    'turnlock/planning': './dist/page/planning.js',
    'turnlock/chain': './dist/page/chain.js',
    'turnlock/proxy': './turnlock/proxy/index.js',
    'turnlock/remote': './turnlock/remote/index.js',
    'turnlock/stores/indexeddb': './turnlock/stores/indexeddb.js',
  },
})
const POLICY = contentSecurityPolicy(imports)

const behaviours = JSON.stringify(scriptedProvider().behaviours)

/** The documentation: its generators write scripts and styles into the pages. */
function policyOfDocs(html) {
  const inline = Array.from(html.matchAll(/<script>([^]*?)<\/script>/g), ([, script]) => script)
  return contentSecurityPolicy(...new Set(inline)).replace(
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
  '/': 'www',
}

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
  const provider = scriptedProvider()
  // A scripted response may break off, which is not an error of this server.
  const model = toNodeListener(
    (request) => provider.handle(request, new URL(request.url).pathname.slice('/model'.length)),
    { onError: () => {} },
  )
  const edge = toNodeListener(await createEdge(provider))
  const server = createServer(async (request, response) => {
    // Not by `URL`: what it refuses, such as `//`, would end the process.
    const [pathname] = request.url.split('?')
    if (pathname.startsWith('/model/')) return model(request, response)
    if (isEdgePath(pathname)) return edge(request, response)
    const { body, policy } = (await file(pathname)) ?? {}
    if (body === undefined) return response.writeHead(404).end('not found')
    const type = CONTENT_TYPES[extname(pathname) || '.html'] ?? 'application/octet-stream'
    response.writeHead(200, fileHeaders(type, policy))
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
