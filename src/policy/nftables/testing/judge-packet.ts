import { cidrContains, familyOf, type IpAddress, ipBytes } from '../../../lib/ip.ts'
import type { Direction } from '../../../networkpolicy/network-policy.ts'
import type { Protocol } from '../../../resources/types.ts'
import type {
  ChainName,
  ChainRule,
  PolicyContent,
  PortMatch,
  SetName,
} from '../../policy-content.ts'
import type { RenderSettings } from '../render.ts'

/** A packet of no tracked connection, except if it says so. */
export interface Packet {
  /** `output`: sent by ip_vs for another sender; `node`: sent by the node itself. */
  readonly way: 'forward' | 'output' | 'node'
  readonly source: IpAddress
  readonly destination: IpAddress
  readonly protocol: Protocol | 'ICMP'
  readonly port: number
  /** Of TCP: no first packet of a connection. */
  readonly isMiddle?: true
  /** Of a connection that is established, or related to one that is. */
  readonly isTracked?: 'established' | 'related'
}

/** Whether a packet passes, as the content says: without chains and sets of a kernel. */
export function judgePacket(
  content: PolicyContent,
  packet: Packet,
  { unknownPods }: RenderSettings,
): boolean {
  if (packet.isTracked || packet.way === 'node') return true
  const ends = { egress: packet.source, ingress: packet.destination } as const
  return (['egress', 'ingress'] as const).every((direction) => {
    const ip = ends[direction]
    const verdict = content.pods[direction].get(ip)
    if (verdict === undefined) {
      const isUnknown = content.localRanges.some((range) => cidrContains(range, ip))
      return !(isUnknown && unknownPods === 'deny')
    }
    if (verdict === 'accept') return !(packet.isMiddle && isIsolated(content, ip))
    const chain = verdict === 'drop' ? undefined : content.podChains.get(verdict)
    if (chain === undefined) return false
    if (packet.source === packet.destination) return true
    if (packet.isMiddle) return false
    const isMatch = (rule: ChainRule): boolean => matches(content, { direction, rule, packet })
    const ofAdmin = tierAction(content, chain.admin, isMatch)
    if (ofAdmin !== 'pass') return ofAdmin === 'accept'
    if (chain.policies.length === 0) return tierAction(content, chain.baseline, isMatch) !== 'deny'
    return chain.policies.some((name) => content.policyChains.get(name)?.rules.some(isMatch))
  })
}

function tierAction(
  { tierChains }: PolicyContent,
  name: ChainName | undefined,
  isMatch: (rule: ChainRule) => boolean,
): 'accept' | 'pass' | 'deny' {
  const first = name && tierChains.get(name)?.rules.find(isMatch)
  if (!first) return 'pass'
  return typeof first.action === 'object' ? 'deny' : first.action
}

function isIsolated({ pods }: PolicyContent, ip: IpAddress): boolean {
  return [pods.egress, pods.ingress].some((map) => (map.get(ip) ?? 'accept') !== 'accept')
}

interface Question {
  readonly direction: Direction
  readonly rule: ChainRule
  readonly packet: Packet
}

function matches(content: PolicyContent, { direction, rule, packet }: Question): boolean {
  const peer = direction === 'egress' ? packet.destination : packet.source
  if (rule.peers !== 'any' && !isMember(content, rule.peers, peer)) return false
  if (rule.ports === 'any') return true
  return rule.ports.some((match) => isPort(content, match, packet))
}

function isMember({ sets }: PolicyContent, name: SetName, ip: IpAddress): boolean {
  const set = sets.get(name)
  if (set?.kind === 'pods') return set.members.has(ip)
  if (set?.kind !== 'blocks') return false
  const bytes = Buffer.from(ipBytes(ip))
  return set.ranges.some(
    ({ first, last }) =>
      familyOf(first) === familyOf(ip) &&
      bytes.compare(ipBytes(first)) >= 0 &&
      bytes.compare(ipBytes(last)) <= 0,
  )
}

function isPort({ sets }: PolicyContent, match: PortMatch, packet: Packet): boolean {
  if (match.protocol !== packet.protocol) return false
  if (match.ports === 'any') return true
  if (!('named' in match.ports)) {
    return match.ports.some(({ first, last }) => first <= packet.port && packet.port <= last)
  }
  const set = sets.get(match.ports.named)
  const members = set?.kind === 'namedPorts' ? [...set.members.values()] : []
  return members.some(
    ({ ip, protocol, port }) =>
      ip === packet.destination && protocol === packet.protocol && port === packet.port,
  )
}
