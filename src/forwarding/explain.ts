import { type Cidr, cidrContains, familyOf, hostPort, type IpAddress } from '../lib/ip.ts'
import type { Protocol } from '../resources/types.ts'
import { claimKey } from './claims.ts'
import type { Backend, EntryId, ForwardingEntry, Frontend, Pool } from './entry.ts'
import type { ForwardingTable } from './table.ts'

/** The first packet of a connection. */
export interface Packet {
  readonly src: IpAddress
  readonly dst: IpAddress
  readonly port: number
  readonly protocol: Protocol
}

/** Facts of the node and of the mode's configuration that the explanation needs besides the table. */
export interface NodeFacts {
  /** `pod`: a Pod of the cluster, by the mode's local detection; `node`: a process of this node. */
  originOf(src: IpAddress): 'pod' | 'node' | 'outside'
  /** Whether the source is known not to be a Pod; false if the configuration does not identify Pods. */
  isOffCluster(src: IpAddress): boolean
  /** Whether node ports are served on this address. */
  servesNodePorts(dst: IpAddress): boolean
  /** The Service range of the address, if unused addresses of the range are refused. */
  refusedRange(dst: IpAddress): Cidr | undefined
  readonly masqueradeAll: boolean
}

/** What this node does with a packet, and why. */
export interface Explanation {
  readonly outcome: 'deliver' | 'reject' | 'drop' | 'unhandled'
  readonly entry: EntryId | undefined
  readonly frontend: Frontend | undefined
  readonly pool: Pool | undefined
  readonly backends: readonly Backend[]
  /** `toItself`: only if the chosen backend is the source of the packet (hairpin). */
  readonly masquerade: 'yes' | 'no' | 'toItself' | undefined
  /** The decisions that led to the outcome, in their order. */
  readonly reasons: readonly string[]
  /** What the operator should check when the packet is rejected or dropped; undefined otherwise. */
  readonly hint: string | undefined
  /** Packet, outcome, reasons and hint in one line. */
  readonly text: string
}

const STALE_ADDRESS =
  'check that the client has the present address and port of the Service: it may have kept old ones'

type Findings = Omit<Explanation, 'text'>

/** Explains what this node does with a packet, from the table alone: it does not read the kernel. */
export function explain(table: ForwardingTable, packet: Packet, facts: NodeFacts): Explanation {
  const match = findFrontend(table, packet, facts)
  const findings =
    match === undefined ? unmatched(table, packet, facts) : matched(match, packet, facts)
  const { src, dst, port, protocol } = packet
  const backends = findings.backends.map((one) => hostPort(one.ip, one.port)).join(' ')
  const outcome = backends === '' ? findings.outcome : `${findings.outcome} to ${backends}`
  const why = [...findings.reasons, ...(findings.hint === undefined ? [] : [findings.hint])]
  const text = `${protocol} ${src} to ${hostPort(dst, port)}: ${outcome}: ${why.join('; ')}`
  return { ...findings, text }
}

interface Match {
  readonly entry: ForwardingEntry
  readonly frontend: Frontend
}

/** A frontend with the destination address comes before a node port. */
function findFrontend(
  table: ForwardingTable,
  { dst, port, protocol }: Packet,
  facts: NodeFacts,
): Match | undefined {
  const family = familyOf(dst)
  const ips = facts.servesNodePorts(dst) ? [dst, 'node' as const] : [dst]
  for (const ip of ips) {
    const entry = table.holder(claimKey({ protocol, family }, { ip, port }))
    const frontend = entry?.frontends.find((one) => one.ip === ip && one.port === port)
    if (entry !== undefined && frontend !== undefined) return { entry, frontend }
  }
  return undefined
}

function unmatched(
  table: ForwardingTable,
  { dst, port, protocol }: Packet,
  facts: NodeFacts,
): Findings {
  const problem = table
    .problems()
    .filter(({ kind }) => kind !== 'endpoint')
    .find((one) => one.ip === dst && one.port === port && one.protocol === protocol)
  const [owner] = table.ownersOf(dst)
  const nothing = `no Service listens on ${hostPort(dst, port)}/${protocol}`
  const range = facts.refusedRange(dst)
  const inRange =
    range === undefined
      ? []
      : [`unused addresses and ports are refused in the Service range ${range}`]
  const ofOwner = owner === undefined ? [] : [`the address is the ClusterIP of ${owner}`]
  const why =
    problem === undefined ? [nothing, ...ofOwner] : [`${problem.entry}: ${problem.message}`]
  return {
    outcome: range === undefined ? 'unhandled' : 'reject',
    entry: problem?.entry,
    frontend: undefined,
    pool: undefined,
    backends: [],
    masquerade: undefined,
    reasons: [...why, ...inRange],
    hint: range === undefined ? undefined : STALE_ADDRESS,
  }
}

function matched({ entry, frontend }: Match, packet: Packet, facts: NodeFacts): Findings {
  const origin = facts.originOf(packet.src)
  const found = [`${frontend.kind} of ${entry.id}`, `source: ${origin}`]
  const at = { entry: entry.id, frontend, pool: undefined, backends: [], masquerade: undefined }
  const { sourceRanges } = frontend
  if (sourceRanges?.every((range) => !cidrContains(range, packet.src))) {
    const reasons = [...found, `source is outside [${sourceRanges.join(' ')}]`]
    const hint = 'check loadBalancerSourceRanges'
    return { ...at, outcome: 'drop', reasons, hint }
  }
  const short = frontend.shortCircuit && origin !== 'outside'
  const pool = short ? 'cluster' : frontend.pool
  if (short) found.push('traffic from the cluster uses every endpoint')
  else if (pool === 'local') found.push('traffic policy Local')
  const backends = entry.pools[pool]
  if (backends.length === 0) {
    const outcome = entry.whenEmpty[pool]
    return {
      ...at,
      pool,
      outcome,
      reasons: [...found, `no ${pool} endpoint`],
      hint: emptyHint(outcome),
    }
  }
  const masquerade = masqueradeOf(frontend, packet, facts)
  const how = `masquerade ${masquerade} (${frontend.masquerade})`
  const toItself = masquerade === 'no' && backends.some((one) => one.ip === packet.src)
  const reasons = [...found, toItself ? `${how}, but yes towards itself` : how]
  if (entry.affinity !== undefined) reasons.push(`affinity ${entry.affinity.seconds} s`)
  return {
    ...at,
    outcome: 'deliver',
    pool,
    backends,
    masquerade: toItself ? 'toItself' : masquerade,
    reasons,
    hint: undefined,
  }
}

function masqueradeOf({ masquerade }: Frontend, { src }: Packet, facts: NodeFacts): 'yes' | 'no' {
  switch (masquerade) {
    case 'always':
      return 'yes'
    case 'onNode':
      return facts.originOf(src) === 'node' ? 'yes' : 'no'
    case 'offCluster':
      return facts.isOffCluster(src) || facts.masqueradeAll ? 'yes' : 'no'
  }
}

function emptyHint(outcome: 'reject' | 'drop'): string {
  return outcome === 'drop'
    ? 'endpoints exist on other nodes only: use policy Cluster or run a Pod here'
    : 'the endpoints list is empty: check that the selector matches the Pod labels, that Pods are ready, and that port names agree'
}
