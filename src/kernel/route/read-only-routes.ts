import type { Routes } from './routes.ts'

/** The same policy routes, of which nothing is changed. */
export function readOnlyRoutes(routes: Routes): Routes {
  return {
    ensure: async () => [],
    remove: async () => {},
    holds: (route) => routes.holds(route),
    list: () => routes.list(),
    watch: () => () => {},
    close: () => routes.close(),
  }
}
