import { cidrContains } from '../../lib/ip.ts'
import type { Json } from '../../lib/json.ts'
import { selectsLabels } from '../../resources/selector/label-selector.ts'
import type { NetworkPolicy, PolicyPeer } from '../objects/network-policy.ts'
import type { ConnectionEnd } from './connection.ts'

/**
 * Whether an end of a connection is a peer of a rule. A block is compared with the address of any end, also of a Pod:
 * the API says nothing else, though its authors advise blocks for addresses outside of the cluster.
 */
export function matchesPeer(
  { namespace }: Pick<NetworkPolicy, 'namespace'>,
  peer: PolicyPeer,
  { ip, pod }: ConnectionEnd,
): boolean {
  if (peer.kind === 'block') {
    return cidrContains(peer.cidr, ip) && !peer.except.some((one) => cidrContains(one, ip))
  }
  if (pod === undefined) return false
  const isOfNamespace =
    peer.namespaceSelector === undefined
      ? pod.namespace === namespace
      : selectsLabels(peer.namespaceSelector, pod.namespaceLabels)
  return isOfNamespace && isSelected(peer.podSelector, pod.labels)
}

function isSelected(selector: Json | undefined, labels: Json): boolean {
  return selector === undefined || selectsLabels(selector, labels)
}
