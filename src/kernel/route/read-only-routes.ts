import type { Routes } from './routes.ts'

/** The same policy routes; a write is accepted, and changes nothing. */
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
