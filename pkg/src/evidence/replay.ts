/** Recordings of bundles, computed again. */
import { answer, encode } from '../core/instance.js'
import { wrong } from '../errors.js'
import type { BundleEffect, ReplayBundleOptions } from '../generated/evidence.js'
import { REPLAY_BUNDLE_OPTIONS } from '../generated/rows.js'
import { readOptions } from '../options.js'
import type { BundleRecording } from './bundle.js'
import { machines } from './driver.js'
import { redactEvent } from './redact.js'
import type { BundleEvent, EvidenceBundle } from './types.js'

export type { ReplayBundleOptions }

/** A bundle that was computed again. */
export interface ReplayedBundle {
  events: BundleEvent[]
  result: EvidenceBundle
}

/**
 * Replays a recorded bundle without running replicates. The events and the bundle are the same,
 * byte for byte.
 *
 * @param options the `redact` of the recorded run, to get the same output
 * @throws TurnlockError `options.invalid` if `recording` is not a recording. Rejects with it if the
 * recorded bundle did not end.
 */
export function replayBundle(
  recording: BundleRecording,
  options: ReplayBundleOptions = {},
): Promise<ReplayedBundle> {
  options = readOptions(options, REPLAY_BUNDLE_OPTIONS)
  const { version, options: text, facts } = recording ?? {}
  if (version !== 1 || typeof text !== 'string' || !Array.isArray(facts)) {
    throw wrong('recording', 'one of version 1')
  }
  return replay(recording, options)
}

async function replay(
  { options: text, facts }: BundleRecording,
  options: ReplayBundleOptions,
): Promise<ReplayedBundle> {
  const part = await machines()
  const on = part.core()
  const made = encode(text)
  const handle = Number(answer(part.callOn(on, (glue) => glue.bundle_new(made))))
  const events: BundleEvent[] = []
  try {
    for (const [at, input, data] of facts) {
      const [bytes, own] = [encode(input), encode(data ?? '')]
      const said = answer(part.callOn(on, (glue) => glue.bundle_handle(handle, at, bytes, own)))
      const effects = said === '' ? [] : (JSON.parse(said) as BundleEffect[])
      for (const effect of effects) {
        if (effect.type === 'emit') events.push(redactEvent(effect.event, options.redact))
      }
    }
  } finally {
    part.callOn(on, (glue) => glue.bundle_free(handle))
  }
  const last = events.at(-1)
  if (last?.type !== 'bundle_ready') {
    throw wrong('recording', 'one of a bundle that ended')
  }
  return { events, result: last.bundle }
}
