/** What the hook needs of React, so that the build needs no declarations of it. */
declare module 'react' {
  export function useEffect(effect: () => void | (() => void), changes?: readonly unknown[]): void
  export function useRef<T>(value: T): { current: T }
  export function useSyncExternalStore<T>(
    subscribe: (listener: () => void) => () => void,
    read: () => T,
    readOnServer?: () => T,
  ): T
}
