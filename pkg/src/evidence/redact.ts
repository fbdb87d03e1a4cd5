/** Applies a host's redaction to every text of an event or bundle before it is delivered. */
import { deep, guarded, type Redact } from '../shared/redact.js'
import type { RunBundleOptions } from '../generated/evidence.js'
import type { BundleEvent } from './types.js'

/** Members whose texts come from replicates or errors; and the prompts of strategies. */
const TOLD = 'errors data value common path field member approximated consensus prompt'.split(' ')

/** Records whose names are those of fields. */
const BY_FIELD = ['support', 'distributions']

/**
 * Redacts every text of an event that comes from replicates or errors, including member names.
 * The host's own values (task, model, seeds, parameters) stay unchanged, but for the prompts of
 * strategies.
 */
export function redactEvent(event: BundleEvent, redact: Redact | undefined): BundleEvent {
  if (!redact) return event
  const hide = guarded(redact)
  const shown = redacted(event, hide) as BundleEvent
  // The reason of a replicate is one of a few names.
  return shown.type === 'cancelled' && shown.scope === 'bundle'
    ? { ...shown, reason: hide(shown.reason) }
    : shown
}

/** Characters from which on the core may cut a text. */
const LONG = 256

/** Redacts a text that the core may cut before it does: half of a secret is known to nobody. */
export function whole(redact: Redact | undefined): Redact {
  return (text) => (redact && text.length > LONG ? guarded(redact)(text) : text)
}

/** A redaction of the texts that the core cuts to keep `limits.maxBytes`. */
export const beforeCuts = ({ redact, limits }: RunBundleOptions): Redact | undefined =>
  redact && limits?.maxBytes !== undefined ? whole(redact) : undefined

function redacted(value: unknown, hide: Redact, areFields = false): unknown {
  if (Array.isArray(value)) return value.map((item) => redacted(item, hide))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, own]) => [
    areFields ? hide(name) : name,
    !areFields && TOLD.includes(name)
      ? deep(own, hide)
      : redacted(own, hide, !areFields && BY_FIELD.includes(name)),
  ])
  return Object.fromEntries(entries)
}
