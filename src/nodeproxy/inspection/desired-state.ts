import type { ForwardingEntry, Protocol, ServiceKey } from '../../forwarding/entry.ts'
import type { ExplainedPool, PoolExplanation } from '../../forwarding/explain-pool.ts'
import { ForwardingTable } from '../../forwarding/table.ts'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import type { NodePortScope } from '../../modes/netfilter/settings/node-port-scope.ts'
import type { LocalTraffic } from '../../modes/netfilter/settings/settings.ts'
import type { FlowRefusal, PolicyFlow } from '../../policy/policy-content.ts'

/** What decides about a packet beside the forwarding table: plain data. */
export interface PacketRules {
  readonly localAddresses: readonly IpAddress[]
  readonly nodePortScope: NodePortScope
  /** How packets of Pods are recognized. */
  readonly localTraffic: LocalTraffic
  readonly masqueradeAll: boolean
  readonly localhostNodePorts: boolean
  /** Networks in which connections to addresses and ports that no Service has are refused; absent: none. */
  readonly refusedRanges?: readonly Cidr[]
}

/** What a node-proxy wants, beside its forwarding table. */
export interface DesiredRules extends PacketRules {
  readonly mode: string
  /** Ports at which node-proxy itself listens to forward packets. */
  readonly ownPorts: readonly number[]
  /** Protocols that the mode does not forward, and why; absent: none. */
  readonly unserved?: readonly { readonly protocol: Protocol; readonly reason: string }[]
}

/** What a node-proxy wants of its kernel. */
export interface DesiredState {
  readonly table: ForwardingTable
  readonly rules: DesiredRules
  /** Why a pool has its backends; absent: the endpoints are not known, because an older version recorded the node. */
  readonly explainPool?: (question: ExplainedPool) => PoolExplanation | undefined
  /** Who refuses a connection; absent: no NetworkPolicies are enforced, or an older version recorded the node. */
  readonly refusalOf?: (flow: PolicyFlow) => FlowRefusal | undefined
}

const NO_DRAINING: Readonly<Record<Protocol, number>> = { TCP: 0, UDP: 0, SCTP: 0 }

/** The forwarding table of recorded entries; backends that drained are not in it. */
export function tableOf(entries: readonly ForwardingEntry[]): ForwardingTable {
  const table = new ForwardingTable({ drainSeconds: NO_DRAINING })
  const services: ReadonlyMap<ServiceKey, readonly ForwardingEntry[]> = Map.groupBy(
    entries,
    ({ service }) => service,
  )
  for (const [service, own] of services) table.replace(service, own, 0)
  return table
}

/** One JSON object per line: the rules (`DesiredRules`), then each entry of the forwarding table. */
export const DESIRED_DOCUMENT = 'desired.jsonl'

/** Reads that document. Throws a SyntaxError or TypeError where it is not such a document. */
export function parseDesired(text: string): DesiredState {
  const [first = '', ...lines] = text.trimEnd().split('\n')
  const rules = JSON.parse(first) as DesiredRules
  const entries = lines.map((line) => JSON.parse(line) as ForwardingEntry)
  return { rules, table: tableOf(entries) }
}
