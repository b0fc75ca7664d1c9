import type { Family } from '../../lib/ip.ts'

/**
 * Packets with a mark are delivered to this node, whatever their destination:
 * `ip rule fwmark MARK/MASK lookup TABLE priority PRIORITY`, and in TABLE
 * `local default dev lo`.
 */
export interface PolicyRoute {
  readonly family: Family
  readonly mark: number
  readonly mask: number
  /** 1 to 2³²-1; 253 to 255 are the system's own. */
  readonly table: number
  /** The priority of the rule; rules with smaller numbers are evaluated first. */
  readonly priority: number
}

/**
 * Policy routes of this network namespace. Rules and routes that are created here carry `OUR_PROTOCOL`; others are
 * neither changed nor removed. A rule is also added if another program has an equal one. Of equal routes the kernel
 * keeps only one, whichever program added it. Refusals throw NP_KERNEL_ROUTE, lost answers NP_KERNEL_NETLINK.
 */
export interface Routes {
  /** Adds the rule and the route if they are missing; returns what was missing, as commands of `ip`. */
  ensure(route: PolicyRoute): Promise<readonly string[]>
  /** Removes rule and route if they carry `OUR_PROTOCOL`; the route stays while another such rule leads to it. */
  remove(route: PolicyRoute): Promise<void>
  /** Whether rule and route exist. */
  holds(route: PolicyRoute): Promise<boolean>
  /** All rules that carry `OUR_PROTOCOL`, including those of an earlier start with other settings. */
  list(): Promise<readonly PolicyRoute[]>
  /** Calls back soon after another process removed such a rule or route. Returns a function that stops this. */
  watch(onChange: () => void): () => void
  close(): void
}

/** The command of `ip` that adds the rule: `ip -4 rule add fwmark 0x8000/0x8000 lookup 28272 priority 7`. */
export function ruleText({ family, mark, mask, table, priority }: PolicyRoute): string {
  const marks = `0x${mark.toString(16)}/0x${mask.toString(16)}`
  return `ip -${family} rule add fwmark ${marks} lookup ${table} priority ${priority}`
}

/** The command of `ip` that adds the route: `ip -4 route add local default dev lo table 28272`. */
export function routeText({ family, table }: Pick<PolicyRoute, 'family' | 'table'>): string {
  return `ip -${family} route add local default dev lo table ${table}`
}

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
