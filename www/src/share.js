// A text inside an address: deflated, base64url, behind `#view?`. It leaves the page only when
// somebody sends the link.

/** Addresses beyond this length are cut by programs on the way. */
export const LONGEST = 30_000

const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer())

export async function packed(text) {
  const deflated = await through(
    new TextEncoder().encode(text),
    new CompressionStream('deflate-raw'),
  )
  let binary = ''
  for (const byte of deflated) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** Most characters that a link may open into. */
const MOST = 5_000_000

/** @throws for what `packed` has not made */
export async function unpacked(text) {
  const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0))
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  const reader = inflated.pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).getReader()
  let all = ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    all += part.value
    // A short address may hold a very long text.
    if (all.length > MOST) throw new Error('the link holds too much')
  }
  return all
}
