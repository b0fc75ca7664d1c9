import type { IpAddress } from '../lib/ip.ts'
import { rangeBetween } from '../lib/ip-range.ts'
import { present } from '../resources/reader.ts'
import {
  type ChainRule,
  type FlowRefusal,
  memberKey,
  type PodVerdict,
  type PolicyContent,
  type PolicyFlow,
  type PortMatch,
  type SetName,
} from './policy-content.ts'

/** The content that decides about a connection. */
export type RefusingContent = Omit<PolicyContent, 'localRanges'>

/** Which policies refuse a connection that begins, or ends, at a Pod of this node; undefined if it is admitted. */
export function refusalIn(content: RefusingContent, flow: PolicyFlow): FlowRefusal | undefined {
  const { source, destination } = flow
  if (source === destination) return undefined
  const { egress, ingress } = content.pods
  const ofSource = refusing(content, egress.get(source), { ...flow, peer: destination })
  if (ofSource !== undefined) return { direction: 'egress', ...ofSource }
  const ofDestination = refusing(content, ingress.get(destination), { ...flow, peer: source })
  return ofDestination && { direction: 'ingress', ...ofDestination }
}

/** A connection as the policies at one of its ends see it. */
interface FlowWithPeer extends Omit<PolicyFlow, 'source'> {
  /** The other end. */
  readonly peer: IpAddress
}

/** The policies that refuse a connection at one end; undefined if it is admitted there. */
function refusing(
  content: RefusingContent,
  verdict: PodVerdict | undefined,
  flow: FlowWithPeer,
): Omit<FlowRefusal, 'direction'> | undefined {
  if (verdict === undefined || verdict === 'accept') return undefined
  const { podChains, policyChains, tierChains, denyChains } = content
  const chain = verdict === 'drop' ? undefined : podChains.get(verdict)
  if (chain === undefined) return { policies: [] }
  const isMatch = (rule: ChainRule): boolean => isMatched(content, rule, flow)
  // Where policies isolate the Pod, there is no baseline, so it may come before them.
  for (const name of [chain.admin, chain.baseline]) {
    const action = (name && tierChains.get(name)?.rules.find(isMatch))?.action ?? 'pass'
    if (action === 'accept') return undefined
    if (action !== 'pass') {
      return { policies: present([denyChains.get(action.deny)?.policy]), isDenied: true }
    }
  }
  const isolating = present(chain.policies.map((name) => policyChains.get(name)))
  const isAdmitted = isolating.length === 0 || isolating.some(({ rules }) => rules.some(isMatch))
  return isAdmitted ? undefined : { policies: isolating.map(({ policy }) => policy) }
}

function isMatched(
  content: RefusingContent,
  { peers, ports }: ChainRule,
  flow: FlowWithPeer,
): boolean {
  const isPeer = peers === 'any' || hasAddress(content, peers, flow.peer)
  return isPeer && (ports === 'any' || ports.some((one) => hasPort(content, one, flow)))
}

function hasAddress({ sets }: RefusingContent, name: SetName, ip: IpAddress): boolean {
  const set = sets.get(name)
  if (set?.kind === 'pods') return set.members.has(ip)
  if (set?.kind !== 'blocks') return false
  return set.ranges.some(({ first, last }) => rangeBetween(first, last)?.indexOf(ip) !== undefined)
}

function hasPort(
  { sets }: RefusingContent,
  { protocol, ports }: PortMatch,
  { destination: ip, protocol: used, port }: FlowWithPeer,
): boolean {
  if (protocol !== used) return false
  if (ports === 'any') return true
  if (!('named' in ports)) return ports.some(({ first, last }) => first <= port && port <= last)
  const set = sets.get(ports.named)
  return set?.kind === 'namedPorts' && set.members.has(memberKey({ ip, protocol, port }))
}
