/**
 * Turnlock: bounded tools, valid histories, computed evidence.
 *
 * The core is embedded, and compiled lazily and synchronously at its first use, so neither an init
 * call nor a bundler plug-in is needed. `turnlock/slim` is the same without the embedded core.
 *
 * @module
 */
import { decodeBase64 } from './base64.js'
import bytes from './bytes.js'
import { provide } from './core.js'

provide(() => new WebAssembly.Module(decodeBase64(bytes)))

export * from './slim.js'
