/** `fflate`'s inflate (RFC 1951), bundled by `scripts/build/package.mjs`. */
export function inflateSync(deflated: Uint8Array): Uint8Array<ArrayBuffer>
