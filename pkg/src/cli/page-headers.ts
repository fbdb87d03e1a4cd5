// @ts-nocheck
// What servers of the page have in common: its types, its policy, what stands in it by where it is.
import { createHash } from 'node:crypto'
import { BEHAVIOURS } from '../testing/provider/behaviours.js'

export const TYPES = {
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

const hashOf = (script) => `'sha256-${createHash('sha256').update(script).digest('base64')}'`

/** The content security policy of a page with these scripts in its text. */
export const policyOf = (...scripts) =>
  [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval' ${scripts.map(hashOf).join(' ')}`,
    "img-src 'self' data:",
    // A real endpoint may be anywhere.
    "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** The headers of one of its files. */
export const headersOf = (type, policy) => ({
  ...{ 'content-type': type, 'content-security-policy': policy, 'cache-control': 'no-cache' },
  'x-content-type-options': 'nosniff',
})

const about = Object.entries(BEHAVIOURS).map(([name, one]) => [name, one.about])
/** `behaviours.json`: what the scripted model can do. */
export const behaviours = JSON.stringify(Object.fromEntries(about))
