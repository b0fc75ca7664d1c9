import { useEffect, useState } from 'preact/hooks'
import type { Store } from '../data/store.ts'

/** The value of a store; the component is rendered again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, render] = useState(0)
  const { value } = store
  useEffect(() => {
    const again = (): void => render((count) => count + 1)
    if (!Object.is(store.value, value)) again()
    return store.subscribe(again)
  }, [store])
  return value
}

/** Runs `follow` while the component is mounted, and starts it again whenever one of `parts` changes. */
export function useFollowing(
  follow: (signal: AbortSignal) => void,
  parts: readonly unknown[],
): void {
  useEffect(() => {
    const closed = new AbortController()
    follow(closed.signal)
    return () => closed.abort()
  }, parts)
}

/** The fragment of the page's address, which is its route. */
export function useHash(): string {
  const [hash, setHash] = useState(() => location.hash)
  useEffect(() => {
    const follow = (): void => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return hash
}
