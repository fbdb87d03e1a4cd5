/** Applies a host's redaction to every text of an event or bundle before it is delivered. */
import { deep, guarded, type Redact } from '../redact.js'
import type { BundleEvent, BundleReplicate, BundleSummary, Quality } from './types.js'

/**
 * Redacts every text of an event that comes from replicates or errors, including member names.
 * The host's own values (task, model, seeds, parameters) stay unchanged, but for the prompts of
 * strategies.
 */
export function redactEvent(event: BundleEvent, redact: Redact | undefined): BundleEvent {
  if (!redact) return event
  const hide = guarded(redact)
  switch (event.type) {
    case 'replicate_done': {
      const quality = ofQuality(event.quality, hide)
      return { ...event, quality, ...('data' in event && { data: deep(event.data, hide) }) }
    }
    case 'partial_summary':
      return { ...event, summary: ofSummary(event.summary, hide) }
    case 'warning':
      return 'errors' in event ? { ...event, errors: event.errors.map(hide) } : event
    case 'cancelled':
      // The reason of a replicate is one of a few names.
      return event.scope === 'bundle' ? { ...event, reason: hide(event.reason) } : event
    case 'bundle_ready': {
      const { meta, replicates, summary } = event.bundle
      const all = replicates.map((one) => ofReplicate(one, hide))
      const prompt = <T extends { prompt?: string | undefined }>(one: T): T =>
        typeof one.prompt === 'string' ? { ...one, prompt: hide(one.prompt) } : one
      const about = { ...meta, ...(meta.strategies && { strategies: meta.strategies.map(prompt) }) }
      const shown = { meta: about, replicates: all, summary: ofSummary(summary, hide) }
      return { ...event, bundle: shown }
    }
    default:
      return event
  }
}

const ofQuality = ({ valid, errors }: Quality, hide: Redact): Quality => ({
  valid,
  errors: errors.map(hide),
})

function ofReplicate(one: BundleReplicate, hide: Redact): BundleReplicate {
  const { quality, data, delta, ...rest } = one
  return {
    ...{ ...rest, quality: ofQuality(quality, hide) },
    ...('data' in one && { data: deep(data, hide) }),
    ...(delta && {
      delta: delta.map(({ op, path, ...own }) => ({
        ...{ op, path: hide(path) },
        ...('value' in own && { value: deep(own.value, hide) }),
      })),
    }),
  }
}

function ofSummary(summary: BundleSummary, hide: Redact): BundleSummary {
  const byField = <T>(record: Record<string, T>, own: (value: T) => T) =>
    Object.fromEntries(Object.entries(record).map(([field, one]) => [hide(field), own(one)]))
  const value = <T extends { value: unknown }>(one: T): T => ({
    ...one,
    value: deep(one.value, hide),
  })
  const { approximated, agreement } = summary
  return {
    ...summary,
    consensus: byField(summary.consensus, (one) => deep(one, hide)),
    support: byField(summary.support, (one) => one),
    disagreements: summary.disagreements.map((one) => ({
      ...{ ...one, field: hide(one.field), values: one.values.map(value) },
    })),
    distributions: byField(summary.distributions, (one) =>
      'counts' in one ? { ...one, counts: one.counts.map(value) } : one,
    ),
    invalid: summary.invalid.map((one) => ({ ...one, errors: one.errors.map(hide) })),
    ...(approximated && { approximated: approximated.map(hide) }),
    ...(agreement && {
      agreement: agreement.map((one) => ({
        ...{ ...one, field: hide(one.field), member: hide(one.member) },
      })),
    }),
  }
}
