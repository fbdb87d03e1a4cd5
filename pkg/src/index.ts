/**
 * Turnlock: bounded tools, valid histories, computed evidence.
 *
 * The core is embedded, compiled lazily and synchronously at its first use: no init call, no
 * bundler plug-in. `turnlock/slim` is the same without the embedded core.
 *
 * @module
 */
import { decodeBase64 } from './base64.js'
import bytes from './bytes.js'
import { provide } from './core.js'

provide(() => new WebAssembly.Module(decodeBase64(bytes)))

export * from './slim.js'
