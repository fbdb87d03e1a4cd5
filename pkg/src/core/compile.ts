/** Compiles embedded modules at once, for synchronous operations. */
import { inflateSync } from '../inflate.js'
import { decodeBase64 } from './base64.js'

/** @param deflated base64 of deflated bytes (RFC 1951) */
export const compile = (deflated: string): WebAssembly.Module =>
  new WebAssembly.Module(inflateSync(decodeBase64(deflated)))
