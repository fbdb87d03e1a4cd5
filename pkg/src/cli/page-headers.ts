/** Headers of the page's files. */
import { createHash } from 'node:crypto'

/** Content types by file name extension. */
export const CONTENT_TYPES: Readonly<Record<string, string>> = {
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

/** Returns the content security policy of a page with these inline scripts. */
export const contentSecurityPolicy = (...scripts: string[]): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval' ${scripts.map(hashSource).join(' ')}`,
    "img-src 'self' data:",
    // The endpoint of a model may have any address.
    "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const hashSource = (script: string) =>
  `'sha256-${createHash('sha256').update(script).digest('base64')}'`

/** Returns the headers of a file. */
export const fileHeaders = (type: string, policy: string) => ({
  'content-type': type,
  'content-security-policy': policy,
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
})
