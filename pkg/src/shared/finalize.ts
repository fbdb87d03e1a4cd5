/** Frees the core's memory of objects that the host has dropped. */
import type { Core, Part } from '../core/instance.js'

let finalizers: FinalizationRegistry<() => void> | undefined

/**
 * Returns a function that frees what a handle names, once. It does so too when `owner` is
 * garbage-collected. It is made here, because a function that is made beside `owner` keeps it alive.
 */
export function onceFreed<G>(
  owner: object,
  part: Part<G>,
  on: Core<G>,
  free: (glue: G) => void,
): () => void {
  let live = true
  const once = () => {
    if (!live) return
    live = false
    finalizers?.unregister(once)
    try {
      part.callOn(on, free)
      part.retire(on)
    } catch {
      // The instance has trapped, and its memory is gone. A finalizer must not throw.
    }
  }
  if (typeof FinalizationRegistry !== 'undefined') {
    finalizers ??= new FinalizationRegistry((free) => free())
    finalizers.register(owner, once, once)
  }
  return once
}
