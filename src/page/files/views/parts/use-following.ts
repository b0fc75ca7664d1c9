import { useEffect } from 'preact/hooks'

/** Follows something for as long as the component is seen, with these parts. */
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
