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

/** Headers and parts of an address that hold a key, and the forms of well-known keys. */
const KEYS = [
  [
    /((?:authorization|x-api-key|api-key|x-goog-api-key)\\?['"]?\s*[:=]\s*\\?['"]?(?:Bearer |Basic )?)[^\s'"\\]+/gi,
    '$1[key]',
  ],
  [/([?&]key=)[^\s&'"\\]+/gi, '$1[key]'],
  [/\b(?:sk-|gsk_|xai-|hf_|r8_|AIza|AKIA)[\w-]{12,}/g, '[key]'],
]

/** A pasted command or request may hold a key; a link to it does not. */
export function withoutKeys(text) {
  const typed = document.getElementById('apiKey').value
  const redacted = typed ? text.replaceAll(typed, '[key]') : text
  return KEYS.reduce((left, [form, instead]) => left.replace(form, instead), redacted)
}
