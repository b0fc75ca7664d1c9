import type { RouteAnswer, Routing } from './routing.ts'

/** Queries each route once: the branches of a packet mostly have few destinations. */
export function rememberRoutes(routing: Routing): Routing {
  const answers = new Map<string, Promise<RouteAnswer>>()
  return {
    route(query) {
      const key = JSON.stringify(query)
      const answer = answers.get(key) ?? routing.route(query)
      answers.set(key, answer)
      return answer
    },
  }
}
