// A real endpoint: what is sent there, and why nothing came back. A browser tells a page no more than
// that a request failed; what it does tell is put together here.

/** Requests that left the page since {@link watchRequests}. */
let sent = 0
/** Origins that the page's content security policy has refused. */
const refused = new Set()
addEventListener('securitypolicyviolation', ({ blockedURI }) => refused.add(originOf(blockedURI)))

const originOf = (url) => URL.parse?.(url)?.origin ?? url

/** A `fetch` that counts. */
export function watchRequests() {
  sent = 0
  return (url, init) => {
    sent += 1
    return fetch(url, init)
  }
}

export const requestsSent = () => sent

/**
 * Checks the address of an endpoint before a key goes there.
 *
 * @throws Error in words for the form
 */
export function checked(address) {
  const text = address.trim()
  // Without a scheme it would be a path of this page's own server.
  if (!/^https?:\/\/[^/]/i.test(text)) {
    throw new Error('the base URL must begin with https:// (or http://); nothing was sent')
  }
  return text
}

/** Why an endpoint cannot be reached, in a sentence. Asks it once more, without the key. */
export async function whyUnreachable(address) {
  const { origin, protocol, hostname, port } = new URL(address)
  if (!navigator.onLine) return 'This browser is offline.'
  if (refused.has(origin)) {
    return `The content security policy of this page does not allow requests to ${origin}: use https, localhost or 127.0.0.1.`
  }
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (location.protocol === 'https:' && protocol === 'http:' && !isLocal) {
    return `This page came over https, so the browser sends nothing to ${origin}, which is http.`
  }
  try {
    await fetch(origin, { mode: 'no-cors', credentials: 'omit' })
  } catch {
    const at = port ? `${hostname}, port ${port}` : hostname
    return `Nothing answers at ${at}: look for a typing mistake, a server that does not run, or a port that browsers block.`
  }
  return `${origin} answers, but does not allow requests from this page (CORS). Put a proxy of your own before it, or allow ${location.origin} there.`
}
