/** What a host's redaction does to texts, wherever they are about to leave. */

/** Gives back what may be shown of a text. */
export type Redact = (text: string) => string

/** A redaction that fails lets nothing through. */
export function guarded(redact: Redact): Redact {
  return (text) => {
    try {
      return String(redact(text))
    } catch {
      return '[redaction failed]'
    }
  }
}

/** A value with every text in it hidden, names of members included. */
export function deep(value: unknown, hide: Redact): unknown {
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((item) => deep(item, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [hide(name), deep(item, hide)]),
  )
}
