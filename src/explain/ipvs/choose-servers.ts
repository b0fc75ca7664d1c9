import type { RealServerState } from '../../kernel/ipvs/ipvs.ts'
import { type Cidr, type IpAddress, parseCidr, parseIp } from '../../lib/ip.ts'
import type { PacketState } from '../packet/packet-state.ts'
import type { IpvsSnapshot, ListedService, PersistenceTemplate } from './ipvs-snapshot.ts'

/** A real server and how likely a new connection gets it. */
export interface ServerChance {
  readonly server: RealServerState
  readonly probability: number
  /** The client keeps it for so many seconds; undefined: it is not bound. */
  readonly secondsLeft: number | undefined
}

/** Schedulers that share by weight in the long run; hashes do so over many clients. */
const BY_WEIGHT = new Set(['wrr', 'wlc', 'sed', 'nq', 'sh', 'dh', 'mh', 'lblc', 'lblcr'])
/** Schedulers that look at the weight only to leave out servers of weight 0. */
const EVENLY = new Set(['rr', 'lc', 'twos'])

/**
 * The virtual server that takes a packet: that of its mark, of its address and port, or of its address with
 * port 0 (ip_vs_service_find).
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

/** The real servers that may get the packet; none: it is refused; undefined: the scheduler is not known. */
export function chooseServers(
  snapshot: IpvsSnapshot,
  { service, servers }: ListedService,
  packet: PacketState,
): readonly ServerChance[] | undefined {
  const kept = keptServer(snapshot, { service, servers }, packet)
  if (kept !== undefined) return [kept]
  const open = servers.filter((one) => one.weight > 0 && !isFull(one))
  const { scheduler } = service.settings
  if (scheduler === 'fo') return first(open)
  if (!BY_WEIGHT.has(scheduler) && !EVENLY.has(scheduler)) return undefined
  const weightOf = (one: RealServerState) => (EVENLY.has(scheduler) ? 1 : one.weight)
  const total = open.reduce((sum, one) => sum + weightOf(one), 0)
  return open.map((server) => ({
    ...{ server, probability: weightOf(server) / total, secondsLeft: undefined },
  }))
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
  const server = servers.find(
    (one) => one.ip === template?.server && one.port === template.serverPort,
  )
  if (server === undefined || (server.weight === 0 && expiresQuiescent)) return undefined
  return { server, probability: 1, secondsLeft: template?.secondsLeft }
}

function isOf(
  { protocol, virtualIp, virtualPort }: PersistenceTemplate,
  { service: { id } }: ListedService,
  packet: PacketState,
): boolean {
  if ('mark' in id) return protocol === undefined && virtualIp === markAddress(id.mark)
  return protocol === packet.protocol && virtualIp === packet.dst && virtualPort === id.port
}

/** IPVS stores the mark of a virtual server in the place of its address. */
function markAddress(mark: number): IpAddress | undefined {
  return parseIp([24, 16, 8, 0].map((shift) => (mark >>> shift) & 255).join('.'))
}

function networkOf(ip: IpAddress, prefix: number): string | undefined {
  const network: Cidr | undefined = parseCidr(`${ip}/${prefix}`)
  return network?.slice(0, network.indexOf('/'))
}
