import { constants } from 'node:os'
import { NodeProxyError } from '../../../lib/error.ts'
import { hostPort } from '../../../lib/ip.ts'
import {
  type Ipvs,
  type IpvsCommand,
  type IpvsCommandError,
  type IpvsInfo,
  type IpvsTimeouts,
  type RealServerId,
  type RealServerState,
  type TrafficCounters,
  type VirtualServer,
  type VirtualServerId,
  virtualServerKey,
} from '../ipvs.ts'
import { describeCommandError } from '../netlink-ipvs.ts'
import { FakeTable, NO_TRAFFIC } from './fake-table.ts'

/** The schedulers of Linux 6.1; `none`: every new connection is refused. */
const SCHEDULERS = 'rr wrr lc wlc fo ovf lblc lblcr dh sh mh sed nq none'.split(
  ' ',
) as readonly string[]
const LARGEST_INT = 0x7fff_ffff
const NO_CONNECTIONS = { activeConnections: 0, inactiveConnections: 0, persistentConnections: 0 }

type Connections = typeof NO_CONNECTIONS

/** ip_vs without packets and time: the test sets connections and counters. */
export class FakeIpvs implements Ipvs {
  readonly #table: FakeTable
  readonly #refused = new Map<(command: IpvsCommand) => boolean, number>()
  readonly #connections = new Map<string, Connections>()
  readonly #serverCounters = new Map<string, TrafficCounters>()
  #timeouts: IpvsTimeouts = { tcp: 900, tcpFin: 120, udp: 300 }
  /** The commands of every run. */
  readonly runs: (readonly IpvsCommand[])[] = []
  /** Thrown by every call while set: no ip_vs in the kernel, or lost answers. */
  failure: NodeProxyError | undefined
  closed = false

  constructor(schedulers: readonly string[] = SCHEDULERS) {
    this.#table = new FakeTable(new Set(schedulers))
  }

  async info(): Promise<IpvsInfo> {
    this.#answer()
    return { version: '1.2.1', connectionTableSize: 4096 }
  }

  async run(commands: readonly IpvsCommand[]): Promise<readonly IpvsCommandError[]> {
    this.#answer()
    this.runs.push(commands)
    return commands.flatMap((command, index) => {
      const errno = this.#refusal(command) ?? this.#table.execute(command)
      return errno === 0 ? [] : [describeCommandError(index, command, { errno, text: undefined })]
    })
  }

  async services(): Promise<readonly VirtualServer[]> {
    this.#answer()
    return [...this.#table.services.values()].map(({ id, settings, counters }) => {
      return { id, settings, counters }
    })
  }

  async service(id: VirtualServerId): Promise<VirtualServer | undefined> {
    const key = virtualServerKey(id)
    return (await this.services()).find((service) => virtualServerKey(service.id) === key)
  }

  async servers(id: VirtualServerId): Promise<readonly RealServerState[] | undefined> {
    this.#answer()
    const servers = this.#table.services.get(virtualServerKey(id))?.servers.values()
    return servers && [...servers].map((server) => ({ ...server, ...this.#stateOf(id, server) }))
  }

  async serversOf(
    ids: readonly VirtualServerId[],
  ): Promise<ReadonlyMap<string, readonly RealServerState[]>> {
    const found = new Map<string, readonly RealServerState[]>()
    for (const id of ids) {
      const servers = await this.servers(id)
      if (servers !== undefined) found.set(virtualServerKey(id), servers)
    }
    return found
  }

  async timeouts(): Promise<IpvsTimeouts> {
    this.#answer()
    return this.#timeouts
  }

  async setTimeouts(timeouts: Partial<IpvsTimeouts>): Promise<void> {
    this.#answer()
    const given = Object.entries(timeouts).filter(([, seconds]) => seconds > 0)
    if (given.some(([, seconds]) => seconds > LARGEST_INT)) {
      throw new NodeProxyError('NP_KERNEL_NETLINK', 'ipvs: timeouts refused: EINVAL')
    }
    this.#timeouts = { ...this.#timeouts, ...Object.fromEntries(given) }
  }

  async zero(id?: VirtualServerId): Promise<boolean> {
    this.#answer()
    const { services } = this.#table
    const meant = id === undefined ? [...services.values()] : [services.get(virtualServerKey(id))]
    for (const service of meant) if (service !== undefined) service.counters = NO_TRAFFIC
    return !meant.includes(undefined)
  }

  async flush(): Promise<void> {
    this.#answer()
    this.flushByForeigner()
  }

  close(): void {
    this.closed = true
  }

  /** As `ipvsadm -C`. */
  flushByForeigner(): void {
    this.#table.services.clear()
  }

  /** From now on commands that match are refused; returns a function that ends this. */
  refuse(
    errno: keyof typeof constants.errno,
    matches: (command: IpvsCommand) => boolean,
  ): () => void {
    this.#refused.set(matches, constants.errno[errno])
    return () => this.#refused.delete(matches)
  }

  /** Connections outlive their real server: if it is added again in time, it gets them back. */
  setConnections(
    id: VirtualServerId,
    server: RealServerId,
    connections: Partial<Connections>,
  ): void {
    this.#connections.set(placeOf(id, server), { ...NO_CONNECTIONS, ...connections })
  }

  /** Counters also outlive their real server. */
  setServerCounters(
    id: VirtualServerId,
    server: RealServerId,
    counters: Partial<TrafficCounters>,
  ): void {
    this.#serverCounters.set(placeOf(id, server), { ...NO_TRAFFIC, ...counters })
  }

  setCounters(id: VirtualServerId, counters: Partial<TrafficCounters>): void {
    const service = this.#table.services.get(virtualServerKey(id))
    if (service !== undefined) service.counters = { ...NO_TRAFFIC, ...counters }
  }

  #stateOf(id: VirtualServerId, server: RealServerId) {
    const place = placeOf(id, server)
    const connections = this.#connections.get(place) ?? NO_CONNECTIONS
    return { ...connections, counters: this.#serverCounters.get(place) ?? NO_TRAFFIC }
  }

  #refusal(command: IpvsCommand): number | undefined {
    for (const [matches, errno] of this.#refused) if (matches(command)) return errno
    return undefined
  }

  #answer(): void {
    if (this.failure !== undefined) throw this.failure
  }
}

function placeOf(id: VirtualServerId, { ip, port }: RealServerId): string {
  return `${virtualServerKey(id)} ${hostPort(ip, port)}`
}
