import type { NodeFacts } from '../../forwarding/explanation/explain.ts'
import { cidrContains, familyOf, type IpAddress } from '../../lib/ip.ts'
import { isInScope } from '../../modes/netfilter/settings/node-port-scope.ts'
import type { LocalTraffic } from '../../modes/netfilter/settings/settings.ts'
import type { PacketRules } from './desired-state.ts'

/** What decides about a packet beside the forwarding table. `inInterface`: by which it comes; empty: from this node. */
export function packetFacts(rules: PacketRules, inInterface: string): NodeFacts {
  const local = new Set(rules.localAddresses)
  const isLocal = (ip: IpAddress) => local.has(ip) || isLoopback(ip)
  return {
    masqueradeAll: rules.masqueradeAll,
    originOf(src) {
      if (inInterface === '' && isLocal(src)) return 'node'
      return isPod(rules.localTraffic, src, inInterface) ? 'pod' : 'outside'
    },
    isOffCluster(src) {
      return identifiesPods(rules.localTraffic, src) && !isPod(rules.localTraffic, src, inInterface)
    },
    refusedRange: (dst) =>
      isLocal(dst) ? undefined : rules.refusedRanges?.find((range) => cidrContains(range, dst)),
    servesNodePorts(dst) {
      if (!isLocal(dst) || !isInScope(rules.nodePortScope, dst)) return false
      return !isLoopback(dst) || (rules.localhostNodePorts && familyOf(dst) === 4)
    },
  }
}

/** Whether packets of the address's family are recognised as those of Pods, or of others. */
function identifiesPods(pods: LocalTraffic, src: IpAddress): boolean {
  if (pods.by !== 'source') return pods.by !== 'none'
  return pods.cidrs.some((cidr) => familyOf(cidr) === familyOf(src))
}

function isPod(pods: LocalTraffic, src: IpAddress, inInterface: string): boolean {
  switch (pods.by) {
    case 'source':
      return pods.cidrs.some((cidr) => cidrContains(cidr, src))
    case 'bridge':
      return inInterface === pods.name
    case 'interfacePrefix':
      return inInterface.startsWith(pods.prefix) && inInterface !== ''
    case 'none':
      return false
  }
}

function isLoopback(ip: IpAddress): boolean {
  return ip === '::1' || ip.startsWith('127.')
}
