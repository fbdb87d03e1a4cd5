/** The host's randomness. */

export function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes))
  return Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A random id. `randomUUID` exists in secure contexts only; other pages get 16 random bytes. */
export const randomId = (): string => crypto.randomUUID?.() ?? randomHex(16)
