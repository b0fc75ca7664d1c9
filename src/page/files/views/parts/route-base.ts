import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Route, routeHash } from '../../route/route.ts'

/** What stands before the routes of a node in the fragment; empty on the page of one node. */
export const RouteBase = createContext('')

/** Writes routes of the node whose views are shown as fragments. */
export function useRouteHash(): (route: Route) => string {
  const base = useContext(RouteBase)
  return (route) => routeHash(route, base)
}
