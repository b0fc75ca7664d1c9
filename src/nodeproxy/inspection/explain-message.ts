import type { MessageInitShape } from '@bufbuild/protobuf'
import type { Backend, ForwardingEntry } from '../../forwarding/entry.ts'
import { type Explanation, explain, type NodeFacts, type Packet } from '../../forwarding/explain.ts'
import type { PoolExplanation } from '../../forwarding/explain-pool.ts'
import type { ForwardingTable } from '../../forwarding/table.ts'
import type {
  ExplainRequest,
  ExplainResponseSchema,
  PolicyRefusalSchema,
  PoolExplanationSchema,
} from '../../inspection/generated/inspection_pb.ts'
import {
  cidrContains,
  type Family,
  familyOf,
  hostPort,
  type IpAddress,
  parseIp,
} from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { isInScope } from '../../modes/netfilter/settings/node-port-scope.ts'
import type { LocalTraffic } from '../../modes/netfilter/settings/settings.ts'
import type { FlowRefusal } from '../../policy/policy-content.ts'
import type { Protocol } from '../../resources/types.ts'
import type { DesiredRules, DesiredState, PacketRules } from './desired-state.ts'

/** The most left-out endpoints in a message; the others are only counted. */
const MAX_LEFT_OUT = 100

const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']

/** What the forwarding table decides about the packet of a request; a string: what is wrong with the request. */
export function explainMessage(
  state: DesiredState,
  request: ExplainRequest,
): MessageInitShape<typeof ExplainResponseSchema> | string {
  const { table, rules, explainPool } = state
  const packet = packetOf(table, rules, request)
  if (typeof packet === 'string') return packet
  const unserved = rules.unserved?.find((one) => one.protocol === packet.protocol)
  if (unserved !== undefined) return untouched(packet, rules, unserved.reason)
  const found = explain(table, packet, packetFacts(rules, request.inInterface))
  const { dst, port, protocol } = packet
  const entry = found.entry === undefined ? undefined : table.get(found.entry)
  const { frontend, pool } = found
  const why = entry && frontend && pool ? explainPool?.({ entry, frontend, pool }) : undefined
  return {
    dst,
    port,
    protocol,
    outcome: found.outcome,
    reasons: [...found.reasons],
    entry: found.entry ?? '',
    backends: found.backends.map((one) => ({
      ...backendMessage(one),
      node: why?.nodes.get(one.ip) ?? '',
    })),
    ...(why === undefined ? {} : { pool: poolMessage(why) }),
    masquerade: found.masquerade ?? '',
    hint: found.hint ?? '',
    hasAffinity: entry?.affinity !== undefined,
    mode: rules.mode,
    ownPorts: [...rules.ownPorts],
    enforcesPolicies: state.refusalOf !== undefined,
    policyRefusals: policyRefusals(state, packet, found),
  }
}

/**
 * The destinations to which NetworkPolicies admit nothing. Connections of the node need no admission, and a mode that
 * forwards by itself connects from the node.
 */
function policyRefusals(
  { rules, refusalOf }: DesiredState,
  { src: source, dst, port, protocol }: Packet,
  { outcome, backends }: Pick<Explanation, 'outcome' | 'backends'>,
): MessageInitShape<typeof PolicyRefusalSchema>[] {
  const isOfNode = (ip: IpAddress) => isLoopback(ip) || rules.localAddresses.includes(ip)
  const isForwardedByUs = outcome === 'deliver' && rules.ownPorts.length > 0
  if (isOfNode(source) || isForwardedByUs) return []
  const to = outcome === 'deliver' ? backends : outcome === 'unhandled' ? [{ ip: dst, port }] : []
  return to.flatMap(({ ip, port: at }) => {
    const flow = { source, destination: ip, protocol, port: at }
    const refusal = isOfNode(ip) ? undefined : refusalOf?.(flow)
    if (refusal === undefined) return []
    const { direction, policies } = refusal
    const whose = direction === 'egress' ? 'the source' : hostPort(ip, at)
    const text = `NetworkPolicies refuse ${hostPort(ip, at)}: the ${direction} of ${whose} is ${refusalWords(refusal)}`
    return [{ ip, port: at, direction, policies: [...policies], text }]
  })
}

function refusalWords({ policies, isDenied }: FlowRefusal): string {
  if (isDenied) return `denied by ClusterNetworkPolicy ${policies.join(', ')}`
  if (policies.length === 0) return 'dropped until the namespace of the Pod is known'
  return `isolated by ${policies.join(', ')}, and none of their rules admits it`
}

/** A packet of a protocol that the mode does not serve. */
function untouched({ dst, port, protocol }: Packet, { mode }: DesiredRules, reason: string) {
  return { dst, port, protocol, mode, outcome: 'unhandled', reasons: [reason] }
}

function packetOf(
  table: ForwardingTable,
  node: PacketRules,
  request: ExplainRequest,
): Packet | string {
  if (request.service !== '') return packetToService(table, node, request)
  const dst = request.dst === '' ? nodePortAddress(node, request) : parseIp(request.dst)
  if (dst === undefined && request.dst === '')
    return `dst: no address of this node serves node ports`
  if (dst === undefined) return `dst: ${quote(request.dst)} is not an IP address`
  const src = sourceOf(node, request, familyOf(dst))
  if (src === undefined) return noSource(request, familyOf(dst))
  const protocol = PROTOCOLS.find((one) => one === request.protocol)
  if (protocol === undefined) return `protocol: ${quote(request.protocol)} is not TCP, UDP or SCTP`
  const { port } = request
  if (port < 1 || port > 65_535) return `port: ${port} is not between 1 and 65535`
  return { src, dst, port, protocol }
}

/** An address of this node that serves node ports, of the family of the source if there is one. */
function nodePortAddress(node: PacketRules, { src, inInterface }: ExplainRequest) {
  const given = parseIp(src)
  const facts = packetFacts(node, inInterface)
  return node.localAddresses.find(
    (ip) => facts.servesNodePorts(ip) && (given === undefined || familyOf(ip) === familyOf(given)),
  )
}

function sourceOf(
  { localAddresses }: PacketRules,
  request: ExplainRequest,
  family: Family,
): IpAddress | undefined {
  const src = request.src === '' ? undefined : parseIp(request.src)
  if (request.src === '') return localAddresses.find((ip) => familyOf(ip) === family)
  return src !== undefined && familyOf(src) === family ? src : undefined
}

function noSource({ src }: ExplainRequest, family: Family): string {
  if (src === '') return `src: this node has no address of IPv${family}`
  return `src: ${quote(src)} is no address of IPv${family}, the family of the destination`
}

/** The first frontend of a Service port, as clients of the cluster use it. */
function packetToService(
  table: ForwardingTable,
  node: PacketRules,
  request: ExplainRequest,
): Packet | string {
  const { service } = request
  const given = parseIp(request.src)
  const entries = [...table.entries()].filter((one) => isNamed(one, service))
  const entry = entries.find((one) => given === undefined || one.family === familyOf(given))
  if (entries.length === 0) {
    return `service: this node forwards no port of ${quote(service)}; node-proxy entries lists them`
  }
  const src = entry && sourceOf(node, request, entry.family)
  if (entry === undefined || src === undefined) return noSource(request, entries[0]!.family)
  const frontend = entry.frontends[0]!
  const here = node.localAddresses.find((ip) => familyOf(ip) === entry.family)
  const dst = frontend.ip === 'node' ? here : frontend.ip
  if (dst === undefined) return `service: this node has no address of IPv${entry.family}`
  return { src, dst, port: frontend.port, protocol: entry.protocol }
}

/** `namespace/name`, with a port's name or number; a number is that of a frontend. */
function isNamed({ service, portName, frontends }: ForwardingEntry, wanted: string): boolean {
  if (wanted === service) return true
  if (!wanted.startsWith(`${service}:`)) return false
  const port = wanted.slice(service.length + 1)
  return portName === port || frontends.some((one) => String(one.port) === port)
}

/** The explanation of a pool in the words of the inspection service. */
export function poolMessage({
  pool,
  zone,
  chosenBy,
  reasons,
  leftOut,
}: PoolExplanation): MessageInitShape<typeof PoolExplanationSchema> {
  return {
    name: pool,
    zone: zone ?? '',
    chosenBy,
    reasons: [...reasons],
    leftOut: leftOut
      .slice(0, MAX_LEFT_OUT)
      .map(({ ip, port, nodeName, reason, text }) => ({ ip, port, node: nodeName, reason, text })),
    leftOutCount: leftOut.length,
  }
}

/**
 * What decides about a packet beside the forwarding table. `inInterface`: the interface by which it arrives; empty:
 * it is sent by this node.
 */
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

/** Whether it is decided, for packets of the address's family, which are from Pods and which are not. */
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

/** One backend in the words of the inspection service, without its state. */
export function backendMessage({ ip, port, weight, local }: Backend) {
  return { ip, port, weight, isLocal: local }
}
