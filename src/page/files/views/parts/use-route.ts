import { useEffect, useState } from 'preact/hooks'
import { parseRoute, type Route } from '../../route/route.ts'

/** The route of the page's address. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  useEffect(() => {
    const follow = (): void => setRoute(parseRoute(location.hash))
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}
