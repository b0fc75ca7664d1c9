import type { PolicyRoute } from './routes.ts'

/** The rule, in the words of `ip`: `ip -4 rule add fwmark 0x8000/0x8000 lookup 28272 priority 7`. */
export function ruleText({ family, mark, mask, table, priority }: PolicyRoute): string {
  const marks = `0x${mark.toString(16)}/0x${mask.toString(16)}`
  return `ip -${family} rule add fwmark ${marks} lookup ${table} priority ${priority}`
}

/** The route, in the words of `ip`: `ip -4 route add local default dev lo table 28272`. */
export function routeText({ family, table }: Pick<PolicyRoute, 'family' | 'table'>): string {
  return `ip -${family} route add local default dev lo table ${table}`
}
