import { decodeHeaders } from '../../kernel/packet-log/packet-headers.ts'
import type { LoggedPacket } from '../../kernel/packet-log/packet-log.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { Direction } from '../../networkpolicy/network-policy.ts'
import type { ChainName, PolicyContent } from '../policy-content.ts'
import { CHAIN } from './render.ts'

/** How many policies a record names. */
const MAX_NAMED = 5

/** Of which direction and policies a chain drops packets. */
export interface Isolation {
  readonly direction: Direction
  /**
   * `namespace/name` of the policies that isolate the Pods, or the name of the ClusterNetworkPolicy that denies; none: the
   * address was that of no known Pod.
   */
  readonly policies: readonly string[]
}

/** A connection of which a packet was denied. */
export interface DeniedConnection {
  readonly source: IpAddress
  readonly sourcePort: number | undefined
  readonly destination: IpAddress
  readonly port: number | undefined
  readonly protocol: string | undefined
  /** `egress`: of the source; `ingress`: of the destination. */
  readonly direction: Direction
  /** `namespace/name` of the Pod whose policies deny it, and of the other end. */
  readonly pod: string | undefined
  readonly peer: string | undefined
  readonly policies: readonly string[]
  /** How many policies are not named; absent: none. */
  readonly morePolicies: number | undefined
}

/** What is known of policies and Pods when a packet is read. */
export interface KnownPolicies {
  readonly content: PolicyContent
  /** `namespace/name` of the Pod with the address, of any node. */
  podAt(ip: IpAddress): string | undefined
}

/** What a logged packet says; undefined if it is not one of ours, or not readable. */
export function describeDenied(
  { prefix, payload, family }: LoggedPacket,
  known: KnownPolicies,
): DeniedConnection | undefined {
  const headers = decodeHeaders(payload, family)
  const isolation = isolationOf(prefix, known.content)
  if (headers === undefined || isolation === undefined) return undefined
  const { source, destination, protocol, ports } = headers
  const { direction, policies } = isolation
  const [own, other] = direction === 'egress' ? [source, destination] : [destination, source]
  const more = policies.length - MAX_NAMED
  return {
    source,
    sourcePort: ports?.source,
    destination,
    port: ports?.destination,
    protocol,
    direction,
    pod: known.podAt(own),
    peer: known.podAt(other),
    policies: policies.slice(0, MAX_NAMED),
    morePolicies: more > 0 ? more : undefined,
  }
}

/** Whose packets a chain drops; undefined for a chain that drops none of Pods that are isolated now. */
export function isolationOf(
  chain: string,
  { podChains, policyChains, denyChains }: PolicyContent,
): Isolation | undefined {
  const podChain = podChains.get(chain as ChainName)
  if (podChain) {
    const { direction } = podChain
    const policies = podChain.policies.flatMap((name) => policyChains.get(name)?.policy ?? [])
    return { direction, policies }
  }
  const denyChain = denyChains.get(chain as ChainName)
  if (denyChain) return { direction: denyChain.direction, policies: [denyChain.policy] }
  if (chain === CHAIN.egress || chain === CHAIN.egressOutput) {
    return { direction: 'egress', policies: [] }
  }
  const isIngress = chain === CHAIN.ingress || chain === CHAIN.ingressOutput
  return isIngress ? { direction: 'ingress', policies: [] } : undefined
}
