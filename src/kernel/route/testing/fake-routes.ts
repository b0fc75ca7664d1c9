import type { NodeProxyError } from '../../../lib/error.ts'
import type { Family } from '../../../lib/ip.ts'
import { type PolicyRoute, type Routes, routeText, ruleText } from '../routes.ts'

interface Held {
  readonly route: PolicyRoute
  readonly isOurs: boolean
}

/** Rules and routes as the kernel holds them, and changes by other processes. */
export class FakeRoutes implements Routes {
  #rules: readonly Held[] = []
  #routes: readonly Held[] = []
  readonly #watchers = new Set<() => void>()
  /** If set, every change is refused with this error. */
  refusal: NodeProxyError | undefined

  async ensure(route: PolicyRoute): Promise<readonly string[]> {
    if (this.refusal !== undefined) throw this.refusal
    return this.#make({ route, isOurs: true })
  }

  async remove(route: PolicyRoute): Promise<void> {
    if (this.refusal !== undefined) throw this.refusal
    this.#rules = this.#rules.filter((held) => !held.isOurs || !isSame(held, route, ruleText))
    const { family, table } = route
    const leadsThere = (held: PolicyRoute) => held.table === table && held.family === family
    if ((await this.list()).some(leadsThere)) return
    this.#routes = this.#routes.filter((held) => !held.isOurs || !isSame(held, route, routeText))
  }

  async holds(route: PolicyRoute): Promise<boolean> {
    return (
      this.#rules.some((held) => held.isOurs && isSame(held, route, ruleText)) &&
      this.#routes.some((held) => isSame(held, route, routeText))
    )
  }

  async list(): Promise<readonly PolicyRoute[]> {
    const ours = this.#rules.filter(({ isOurs }) => isOurs).map(({ route }) => route)
    return ours.toSorted((a, b) => a.family - b.family || a.priority - b.priority)
  }

  watch(onChange: () => void): () => void {
    this.#watchers.add(onChange)
    return () => this.#watchers.delete(onChange)
  }

  close(): void {}

  /** Another process adds the same rule and route. */
  foreignAdd(route: PolicyRoute): void {
    this.#make({ route, isOurs: false })
  }

  /** Another process removes every rule of a family: `ip rule flush`. */
  foreignRuleFlush(family: Family): void {
    const isLost = (held: Held) => held.route.family === family
    const lost = this.#rules.filter(isLost)
    this.#rules = this.#rules.filter((held) => !isLost(held))
    if (lost.some(({ isOurs }) => isOurs)) this.#notify()
  }

  /** Another process removes every route of a table: `ip route flush table TABLE`. */
  foreignRouteFlush(family: Family, table: number): void {
    const isLost = ({ route }: Held) => route.family === family && route.table === table
    const left = this.#routes.filter((held) => !isLost(held))
    const isLoss = left.length < this.#routes.length
    this.#routes = left
    if (isLoss) this.#notify()
  }

  #make(wanted: Held): readonly string[] {
    const { route, isOurs } = wanted
    const made: string[] = []
    if (!this.#rules.some((held) => held.isOurs === isOurs && isSame(held, route, ruleText))) {
      this.#rules = [...this.#rules, wanted]
      made.push(ruleText(route))
    }
    if (!this.#routes.some((held) => isSame(held, route, routeText))) {
      this.#routes = [...this.#routes, wanted]
      made.push(routeText(route))
    }
    return made
  }

  #notify(): void {
    for (const onChange of this.#watchers) onChange()
  }
}

function isSame(held: Held, route: PolicyRoute, text: (route: PolicyRoute) => string): boolean {
  return text(held.route) === text(route)
}
