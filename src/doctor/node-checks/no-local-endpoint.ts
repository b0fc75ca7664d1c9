import { checkOfEachNode } from '../evidence/node-check.ts'
import { packetText } from './node-firewall.ts'

/**
 * Clients send packets to a Service with policy Local that has no endpoint on this node. Nodes without an endpoint are
 * normal, so this is a finding only if packets arrive nevertheless, or for a client that the user named.
 */
export const noLocalEndpoint = checkOfEachNode('no-local-endpoint', ({ walks }) => {
  const found = walks.filter(
    ({ purpose, desired, sourceRanges, outcomes }) =>
      desired === 'drop' &&
      outcomes.some(({ kind, isOwn }) => kind === 'silent' && isOwn) &&
      ((purpose === 'noLocalEndpoint' && outcomes.some(({ packets }) => packets > 0)) ||
        (purpose === 'fromClient' && sourceRanges.length === 0)),
  )
  const first = new Map(found.map((walk) => [walk.service, walk]))
  return [...first.values()].map((walk) => ({
    symptom: 'External access fails',
    cause: `service/${walk.service} has externalTrafficPolicy Local and no endpoint on this node, but clients come here`,
    evidence: [packetText(walk), ...countersOf(walk.outcomes)],
    remedy:
      'let the load balancer send only to nodes whose health check node port answers 200, run a backend on each node, or set the policy Cluster',
    commands: [`node-proxy entries ${walk.service}`],
    services: [walk.service],
  }))
})

function countersOf(outcomes: readonly { readonly packets: number; readonly rule: string }[]) {
  return outcomes
    .filter(({ packets }) => packets >= 0)
    .map(({ packets, rule }) => `${rule} has dropped ${packets} packets so far`)
}
