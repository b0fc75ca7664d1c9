import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { type Route, routeHash } from '../../route/route.ts'

/** Where the views of a node stand. */
export interface PageBase {
  /** What stands before their routes in the fragment; empty on the page of one node. */
  readonly path: string
  /** What the title of the document names after the view. */
  readonly title: string
}

export const PageBaseContext = createContext<PageBase>({ path: '', title: 'node-proxy' })

/** Writes routes of the node whose views are shown as fragments. */
export function useRouteHash(): (route: Route) => string {
  const { path } = useContext(PageBaseContext)
  return (route) => routeHash(route, path)
}
