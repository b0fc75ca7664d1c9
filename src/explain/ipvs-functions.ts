import { type RealServerState, type VirtualServer, virtualServerKey } from '../kernel/ipvs/ipvs.ts'
import { type Cidr, type Family, formatIp, hostPort, type IpAddress, parseCidr } from '../lib/ip.ts'
import type { Protocol } from '../resources/types.ts'
import { type Branch, branchOf, type Step, type Verdict } from './packet/branch.ts'
import type { HookFunction } from './packet/hook-function.ts'
import type { HostFacts } from './packet/host-facts.ts'
import type { Hook, PacketState } from './packet/packet-state.ts'

/** Schedulers that choose in proportion to the weight in the long run; those that hash do so over many clients. */
const BY_WEIGHT = new Set(['wrr', 'wlc', 'sed', 'nq', 'sh', 'mh', 'twos'])
/** Schedulers that use the weight only to leave out servers of weight 0. */
const EVENLY = new Set(['rr', 'lc'])
/** Schedulers that choose by the destination: all clients of an address get the same server, and which is not known. */
const BY_DESTINATION = new Set(['dh', 'lblc', 'lblcr'])

/** Before source NAT at input, after destination NAT at output (ip_vs_core.c). */
const PRIORITIES: readonly (readonly [hook: Hook, priority: number])[] = [
  ['input', 99],
  ['output', -98],
]

/** The functions of IPVS at both of its hooks; empty without virtual servers. */
export function ipvsFunctions(
  snapshot: IpvsSnapshot,
  facts: Pick<HostFacts, 'addressType'>,
): readonly HookFunction[] {
  if (snapshot.services.length === 0) return []
  return PRIORITIES.map(([hook, priority]) => ({
    hook,
    families: [4, 6] as const,
    priority,
    isNat: false,
    source: 'ipvs',
    apply: (packet) => schedule({ snapshot, facts, hook }, packet),
  }))
}

const REFUSAL: Verdict = { kind: 'reject', how: 'icmp-port-unreachable' }

/** The kernel cannot send an ICMP error from an address that it does not have, so it drops the packet. */
function dropOf({ dst }: PacketState): Verdict {
  const reason = `ipvs: no real server, and no refusal can come from ${dst}, because it is not an address of this node`
  return { kind: 'drop', reason }
}

interface At {
  readonly snapshot: IpvsSnapshot
  readonly facts: Pick<HostFacts, 'addressType'>
  readonly hook: Hook
}

function schedule({ snapshot, facts, hook }: At, packet: PacketState): readonly Branch[] {
  const listed = packet.virtualServer === undefined ? findService(snapshot, packet) : undefined
  if (listed === undefined) return [branchOf(packet)]
  const chances = chooseServers(snapshot, listed, packet)
  const step = stepOf(listed)
  if (chances === undefined) {
    const reason = `scheduler ${listed.service.settings.scheduler} of IPVS`
    return [
      branchOf(packet, { kind: 'uncertain', reason }, [
        step('how its scheduler chooses is not modelled'),
      ]),
    ]
  }
  if (chances.length === 0) {
    const steps = [step('no real server takes new connections')]
    const isHeard = hook === 'output' || facts.addressType(packet.dst) === 'local'
    return [branchOf(packet, isHeard ? REFUSAL : dropOf(packet), steps)]
  }
  return chances.map(({ server, probability, secondsLeft }) => {
    const text = `real server ${hostPort(server.ip, server.port)}, weight ${server.weight}`
    const bound = secondsLeft === undefined ? {} : { secondsLeft }
    return {
      ...forward(snapshot, { listed, server }, packet),
      probability,
      steps: [{ ...step(text), ...bound }],
    }
  })
}

/**
 * The forwarding method `masquerade` of IPVS (`ipvsadm -m`) replaces the destination, `local` delivers here. The others
 * (direct routing, tunnel) are not modelled.
 */
function forward(
  snapshot: IpvsSnapshot,
  { listed, server }: { readonly listed: ListedService; readonly server: RealServerState },
  packet: PacketState,
): Branch {
  const virtualServer = { ip: packet.dst, port: packet.dstPort }
  const { connection } = packet
  if (server.forwarding === 'local') return branchOf({ ...packet, virtualServer })
  if (server.forwarding !== 'masquerade') {
    const reason = `forwarding method ${server.forwarding} of IPVS`
    return branchOf(packet, { kind: 'uncertain', reason })
  }
  const moved: PacketState = {
    ...packet,
    virtualServer,
    dst: server.ip,
    dstPort: server.port === 0 || keepsPort(listed) ? packet.dstPort : server.port,
    connection: snapshot.tracksConnections ? connection : { ...connection, status: 'untracked' },
  }
  return branchOf(moved, { kind: 'taken' })
}

/** Persistence by mark, or with port 0, keeps a client at a server for all ports (ip_vs_sched_persist). */
function keepsPort({ service: { id, settings } }: ListedService): boolean {
  return settings.persistence !== undefined && ('mark' in id || id.port === 0)
}

function stepOf({ service }: ListedService): (text: string) => Step {
  const { incomingPackets, incomingBytes } = service.counters
  const counter = { packets: BigInt(incomingPackets), bytes: BigInt(incomingBytes) }
  const object = `${virtualServerKey(service.id)} ${service.settings.scheduler}`
  return (text) => ({ where: 'ipvs', object, text, counter })
}

/** A real server and its probability for a new connection. */
interface ServerChance {
  readonly server: RealServerState
  readonly probability: number
  /** Seconds for which the client stays at this server; undefined if it is not bound to it. */
  readonly secondsLeft: number | undefined
}

/**
 * The virtual server that takes a packet: one with its mark, with its address and port, or with its address and port 0
 * (ip_vs_service_find).
 */
export function findService(
  { services }: IpvsSnapshot,
  packet: PacketState,
): ListedService | undefined {
  const ofFamily = services.filter(({ service }) => service.id.family === packet.family)
  const byMark = ofFamily.find(
    ({ service: { id } }) => 'mark' in id && packet.mark !== 0 && id.mark === packet.mark,
  )
  if (byMark !== undefined) return byMark
  const byPort = (port: number) =>
    ofFamily.find(
      ({ service: { id } }) =>
        !('mark' in id) &&
        id.ip === packet.dst &&
        id.port === port &&
        id.protocol === packet.protocol,
    )
  return byPort(packet.dstPort) ?? byPort(0)
}

/** The real servers that may get the packet; empty if it is refused; undefined if the scheduler is not modelled. */
function chooseServers(
  snapshot: IpvsSnapshot,
  { service, servers }: ListedService,
  packet: PacketState,
): readonly ServerChance[] | undefined {
  const kept = keptServer(snapshot, { service, servers }, packet)
  if (kept !== undefined) return [kept]
  const open = servers.filter((one) => one.weight > 0 && !isFull(one))
  const { scheduler } = service.settings
  if (scheduler === 'fo') return first(open)
  if (BY_DESTINATION.has(scheduler) ? servers.length > 1 : !isShared(scheduler)) return undefined
  const weightOf = (one: RealServerState) => (EVENLY.has(scheduler) ? 1 : one.weight)
  const total = open.reduce((sum, one) => sum + weightOf(one), 0)
  return open.map((server) => ({
    server,
    probability: weightOf(server) / total,
    secondsLeft: undefined,
  }))
}

function isShared(scheduler: string): boolean {
  return BY_WEIGHT.has(scheduler) || EVENLY.has(scheduler)
}

/** Failover: the server of the highest weight. */
function first(open: readonly RealServerState[]): readonly ServerChance[] {
  const [server] = open.toSorted((a, b) => b.weight - a.weight)
  return server === undefined ? [] : [{ server, probability: 1, secondsLeft: undefined }]
}

function isFull({
  upperThreshold,
  activeConnections,
  inactiveConnections,
}: RealServerState): boolean {
  return upperThreshold > 0 && activeConnections + inactiveConnections >= upperThreshold
}

function keptServer(
  { templates, expiresQuiescent }: IpvsSnapshot,
  { service, servers }: ListedService,
  packet: PacketState,
): ServerChance | undefined {
  const { persistence } = service.settings
  if (persistence === undefined) return undefined
  const client = networkOf(packet.src, persistence.prefix)
  const template = templates.find(
    (one) => one.client === client && isOf(one, { service, servers }, packet),
  )
  const isAnyPort = keepsPort({ service, servers })
  const server = servers.find(
    (one) => one.ip === template?.server && (isAnyPort || one.port === template.serverPort),
  )
  if (server === undefined || (server.weight === 0 && expiresQuiescent)) return undefined
  return { server, probability: 1, secondsLeft: template?.secondsLeft }
}

function isOf(
  { protocol, virtualIp, virtualPort }: PersistenceTemplate,
  { service: { id } }: ListedService,
  packet: PacketState,
): boolean {
  if ('mark' in id) return protocol === undefined && virtualIp === markAddress(id)
  return protocol === packet.protocol && virtualIp === packet.dst && virtualPort === id.port
}

/** IPVS stores the mark of a virtual server in the first 32 bits of the field for its address. */
function markAddress({
  family,
  mark,
}: {
  readonly family: Family
  readonly mark: number
}): IpAddress {
  const bytes = new Uint8Array(family === 4 ? 4 : 16)
  new DataView(bytes.buffer).setUint32(0, mark)
  return formatIp(bytes)
}

function networkOf(ip: IpAddress, prefix: number): string | undefined {
  const network: Cidr | undefined = parseCidr(`${ip}/${prefix}`)
  return network?.slice(0, network.indexOf('/'))
}

/** A virtual server with its real servers. */
export interface ListedService {
  readonly service: VirtualServer
  readonly servers: readonly RealServerState[]
}

/** A persistence template: new connections of a client (or of its network) go to the same real server. */
export interface PersistenceTemplate {
  /** Undefined for a virtual server that is identified by a mark. */
  readonly protocol: Protocol | undefined
  /** The client's address, masked with the prefix length of the virtual server's persistence. */
  readonly client: IpAddress
  /** The virtual server's address; if it is identified by a mark, an address whose first 32 bits are the mark. */
  readonly virtualIp: IpAddress
  readonly virtualPort: number
  readonly server: IpAddress
  readonly serverPort: number
  /** Seconds until the template expires. */
  readonly secondsLeft: number
}

/** The state of IPVS in one network namespace. */
export interface IpvsSnapshot {
  readonly services: readonly ListedService[]
  readonly templates: readonly PersistenceTemplate[]
  /** `net.ipv4.vs.conntrack`: without it, connections of IPVS are not tracked and therefore not masqueraded. */
  readonly tracksConnections: boolean
  /** `net.ipv4.vs.expire_quiescent_template`: whether templates of real servers with weight 0 are ignored. */
  readonly expiresQuiescent: boolean
}
