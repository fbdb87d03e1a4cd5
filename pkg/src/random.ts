/** The host's randomness. */

export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes))
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** `randomUUID` exists in secure contexts only; a page over plain HTTP gets the same entropy. */
export const randomId = (): string => crypto.randomUUID?.() ?? randomHex(16)
