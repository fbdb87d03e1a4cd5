/** The files of the page: what the build has put into the package, and the package itself. */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { behaviours, headersOf, policyOf, TYPES } from './page-headers.js'

/** The page loads the modules of the package, and its own, which stand in `page` of it. */
const FILE = /^\/turnlock\/([\w-]+(?:[/.][\w-]+)*\.(?:js|css|wasm))$/

/** What a path of the page is answered with; undefined if it is none. */
export async function pageFile(pathname: string): Promise<Response | undefined> {
  if (pathname === '/behaviours.json') return answered(behaviours, '.json')
  if (pathname === '/') {
    const html = String(await read('page/index.html'))
    const [, imports = ''] = /<script type="importmap">(.*?)<\/script>/.exec(html) ?? []
    return answered(html, '.html', policyOf(imports))
  }
  const [, path] = FILE.exec(pathname) ?? []
  const body = path === undefined ? undefined : await read(path).catch(() => undefined)
  return body && answered(new Uint8Array(body), extname(pathname))
}

const read = (path: string) => readFile(new URL(path, import.meta.url))

const answered = (body: string | Uint8Array<ArrayBuffer>, end: string, policy = policyOf()) =>
  new Response(body, { headers: headersOf(TYPES[end as keyof typeof TYPES], policy) })
