/** Maps bundle events to the normalized names of an event manager. */
import type { Method } from '../options.js'
import { quietly } from '../shared/quietly.js'
import type { BundleEvent, BundleUsage } from './types.js'

interface Source {
  task: string
  metadata: { source: string }
}

type UsageOfSource = Source & { id?: string; usage: BundleUsage; cost?: number | null }
type FailureOfSource = Source & { code: string; message: string }

/** The listeners of a host's event manager. Exceptions of listeners are ignored. */
export interface EventManager {
  on_start?: Method<[event: Source], void> | undefined
  /** All intermediate events: replicates, partial summaries, warnings. */
  on_delta?: Method<[event: BundleEvent], void> | undefined
  /** The usage of one replicate when it ends, and of all replicates at the end. */
  on_usage?: Method<[event: UsageOfSource], void> | undefined
  on_complete?: Method<[event: BundleEvent & { type: 'bundle_ready' }], void> | undefined
  /** The bundle was cancelled or ran out of time (`on_complete` follows), or the core failed. */
  on_error?: Method<[event: BundleEvent | FailureOfSource], void> | undefined
}

/** Passes an event to a manager under its normalized names. */
export function normalized(event: BundleEvent, manager: EventManager): void {
  const { task, metadata } = event
  const source = { task, metadata }
  if (event.seq === 1) quietly(() => manager.on_start?.(source))
  if (event.type === 'bundle_ready') {
    const { usage, cost } = event.bundle.meta
    quietly(() => manager.on_usage?.({ ...source, usage, cost }))
    return quietly(() => manager.on_complete?.(event))
  }
  if ('scope' in event && event.scope === 'bundle') return quietly(() => manager.on_error?.(event))
  quietly(() => manager.on_delta?.(event))
  if (event.type !== 'replicate_done' || !event.usage) return
  const { id, usage } = event
  quietly(() => manager.on_usage?.({ ...source, id, usage }))
}
