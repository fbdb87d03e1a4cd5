/** The last thing before an event or a bundle leaves: a host's redaction of every text in it. */

/** Gives back what may be shown of a text. */
export type Redact = (text: string) => string

/** Written by the core or by the host that runs the bundle; never by a replicate. */
const OWN = new Set(['type', 'seq', 'task', 'metadata', 'id', 'meta', 'status', 'code', 'scope'])

/** An event with every text of its payload redacted, names of members included. */
export function redactEvent<E extends object>(event: E, redact: Redact | undefined): E {
  if (!redact) return event
  const parts = Object.entries(event).map(([name, value]) => [
    name,
    OWN.has(name) ? value : redactDeep(value, guarded(redact)),
  ])
  return Object.fromEntries(parts) as E
}

function redactDeep(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((item) => redactDeep(item, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [redact(name), redactDeep(item, redact)]),
  )
}

/** A redaction that fails lets nothing through. */
function guarded(redact: Redact): Redact {
  return (text) => {
    try {
      return String(redact(text))
    } catch {
      return '[redaction failed]'
    }
  }
}
