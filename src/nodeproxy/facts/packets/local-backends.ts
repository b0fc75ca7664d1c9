import type { NodeFacts } from '../../../doctor/evidence/node-facts.ts'
import type { Routing } from '../../../explain/walk/routing.ts'
import { arrivalInterface } from '../../../explain/world/first-hop.ts'
import { parseIp } from '../../../lib/ip.ts'
import type { LocalBackend } from './sampled-entries.ts'

/** Addresses whose route is queried. */
const MAX_QUERIES = 50

/** Interfaces that lead to backends of this node, and to how many of them: a bridge for all, or one for each. */
export async function countLocalBackends(
  routing: Routing,
  backends: Iterable<LocalBackend>,
): Promise<NodeFacts['localBackends']> {
  const counts = new Map<string, number>()
  const addresses = [...new Set([...backends].map(({ backend }) => backend.ip))]
  for (const text of addresses.slice(0, MAX_QUERIES)) {
    const ip = parseIp(text)
    const name = ip === undefined ? '' : ((await arrivalInterface(routing, ip)) ?? '')
    if (name !== '') counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([name, count]) => ({ interface: name, count }))
}
