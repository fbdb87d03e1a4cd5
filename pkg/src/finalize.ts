/** Frees the core's memory of objects that the host has dropped. */
let finalizers: FinalizationRegistry<() => void> | undefined

/** Calls `free` when `owner` is garbage-collected, to free its memory in the core. */
export function onceFreed(owner: object, free: () => void): void {
  if (typeof FinalizationRegistry === 'undefined') return
  finalizers ??= new FinalizationRegistry((free) => free())
  finalizers.register(owner, free, owner)
}

/** Takes {@link onceFreed} back. */
export function freed(owner: object): void {
  finalizers?.unregister(owner)
}
