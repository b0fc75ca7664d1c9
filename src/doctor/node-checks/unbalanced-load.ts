import { checkOfEachNode } from '../evidence/node-check.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

type Load = NodeFacts['loads'][number]

/** Connections per backend between the two reads that are needed to judge the balance. */
const ENOUGH = 30
/** The multiple of its equal share, and the standard deviations from it, above which a backend is unbalanced. */
const TIMES = 2
const DEVIATIONS = 6
/** With few backends the multiple cannot be reached; then a backend with this part of all connections is unbalanced. */
const ALL = 0.9

/** One backend gets far more connections than the others: clients are remembered, or few of them stay connected. */
export const unbalancedLoad = checkOfEachNode('unbalanced-load', ({ loads, daemon }) =>
  loads.filter(isUnbalanced).map((load) => {
    const { service, entry, affinitySeconds } = load
    const sorted = load.backends.toSorted((a, b) => b.connections - a.connections)
    const reason =
      affinitySeconds > 0
        ? `session affinity keeps each client at one backend for ${affinitySeconds} s`
        : 'few clients, or long-lived connections: the choice is made once for each connection'
    return {
      symptom: 'Unbalanced load',
      cause: `one of ${sorted.length} backends of ${entry} has ${percent(load)} % of its connections: ${reason}`,
      evidence: sorted
        .slice(0, 5)
        .map(
          ({ ip, port, connections, connectionsNow }) =>
            `${ip} port ${port}: ${connections} connections${connectionsNow < 0 ? '' : `, ${connectionsNow} open now`}`,
        ),
      remedy:
        affinitySeconds > 0
          ? 'turn off sessionAffinity or shorten timeoutSeconds; behind one address (NAT, a proxy) many clients count as one'
          : `let clients reconnect from time to time${daemon?.mode === 'ipvs' ? ', or take the scheduler lc' : ''}`,
      commands: [`node-proxy entries ${service}`],
      services: [service],
    }
  }),
)

function isUnbalanced({ backends }: Load): boolean {
  const counted = backends.filter(({ connections }) => connections >= 0)
  const total = counted.reduce((sum, { connections }) => sum + connections, 0)
  if (counted.length < 2 || counted.length < backends.length) return false
  if (total < ENOUGH * counted.length) return false
  const share = total / counted.length
  const most = Math.max(...counted.map(({ connections }) => connections))
  return (
    most >= share * Math.min(TIMES, counted.length * ALL) &&
    most - share >= DEVIATIONS * Math.sqrt(share)
  )
}

function percent({ backends }: Load): number {
  const total = backends.reduce((sum, { connections }) => sum + connections, 0)
  return Math.round((Math.max(...backends.map(({ connections }) => connections)) / total) * 100)
}
