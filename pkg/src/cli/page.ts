/** The files of the page, which the build adds to the package, and the modules of the package. */
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { CONTENT_TYPES, contentSecurityPolicy, fileHeaders } from './page-headers.js'

/** The page loads its modules from the folder `page` of the package. */
const FILE = /^\/turnlock\/([\w-]+(?:[/.][\w-]+)*\.(?:js|css|wasm))$/

/**
 * Returns the response for a path of the page; undefined for any other path.
 *
 * @param behaviours the descriptions of the behaviours, which the page shows
 */
export async function pageFile(
  pathname: string,
  behaviours: Readonly<Record<string, string>>,
): Promise<Response | undefined> {
  if (pathname === '/behaviours.json') return fileResponse(JSON.stringify(behaviours), '.json')
  if (pathname === '/') {
    const html = String(await read('page/index.html'))
    const [, imports = ''] = /<script type="importmap">(.*?)<\/script>/.exec(html) ?? []
    return fileResponse(html, '.html', contentSecurityPolicy(imports))
  }
  const [, path] = FILE.exec(pathname) ?? []
  const body = path === undefined ? undefined : await read(path).catch(() => undefined)
  return body && fileResponse(new Uint8Array(body), extname(pathname))
}

const read = (path: string) => readFile(new URL(path, import.meta.url))

const fileResponse = (
  body: string | Uint8Array<ArrayBuffer>,
  extension: string,
  policy = contentSecurityPolicy(),
) => new Response(body, { headers: fileHeaders(CONTENT_TYPES[extension] ?? '', policy) })
