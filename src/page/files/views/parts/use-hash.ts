import { useEffect, useState } from 'preact/hooks'

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
