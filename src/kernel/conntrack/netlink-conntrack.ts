import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { inGroups } from '../../lib/groups.ts'
import { type Family, familyOf, formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { NetlinkSession } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import type { Conntrack, FlowChoice, FlowEnds, FlowFilter, FlowProtocol } from './conntrack.ts'
import {
  addressNumber,
  backendOf,
  type DumpFilter,
  decodeFlow,
  destinationNumberOf,
  destinationPortOf,
  encodeFlowDeletion,
  encodeFlowDump,
  type Flow,
  isMasqueraded,
  isRedirected,
  isRewritten,
  isSentTo,
  PROTOCOLS,
} from './flow.ts'

/** Deletions in one datagram. */
const BATCH = 500

/** The conntrack table, over ctnetlink. The socket is opened at the first use. */
export class NetlinkConntrack implements Conntrack {
  readonly #open: OpenTransport
  readonly #clock: Clock
  #session: NetlinkSession | undefined

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async cut(filters: readonly FlowFilter[]): Promise<{ readonly deleted: number }> {
    let deleted = 0
    for (const group of groupsOf(filters)) deleted += await this.#delete(await this.#stale(group))
    return { deleted }
  }

  async count(filters: readonly FlowFilter[]): Promise<number> {
    let count = 0
    for (const group of groupsOf(filters)) count += (await this.#stale(group)).length
    return count
  }

  async cutTranslatedTo(
    ports: ReadonlySet<number>,
    protocols: readonly FlowProtocol[],
    which: FlowChoice = 'all',
  ): Promise<void> {
    const isOurs = (flow: Flow) =>
      isRewritten(flow) && ports.has(flow.reply.sourcePort) && (which === 'all' || !flow.isAnswered)
    for (const family of [4, 6] as const) {
      for (const protocol of protocols) {
        const flows = { family, protocol, port: undefined }
        const stale = await this.#deletions(flows, (message) => {
          const flow = decodeFlow(message)
          return flow?.original.protocol === PROTOCOLS[protocol] && isOurs(flow) ? flow : undefined
        })
        await this.#delete(stale)
      }
    }
  }

  async cutRefused(
    addresses: ReadonlySet<IpAddress>,
    isRefused: (flow: FlowEnds) => boolean,
  ): Promise<{ readonly deleted: number }> {
    let deleted = 0
    for (const family of [4, 6] as const) {
      const own = [...addresses].filter((ip) => familyOf(ip) === family)
      const ends = new Set(own.map((ip) => latin1(ipBytes(ip))))
      if (ends.size === 0) continue
      for (const protocol of Object.keys(PROTOCOLS) as FlowProtocol[]) {
        const stale = await this.#deletions({ family, protocol, port: undefined }, (message) => {
          const flow = decodeFlow(message)
          // Kernels before 5.8 list all protocols.
          if (flow?.original.protocol !== PROTOCOLS[protocol]) return undefined
          if (isRedirected(flow)) return undefined
          const { original, reply } = flow
          if (!ends.has(latin1(original.source)) && !ends.has(latin1(reply.source)))
            return undefined
          const [source, destination] = [formatIp(original.source), formatIp(reply.source)]
          const port = reply.sourcePort
          return isRefused({ source, destination, protocol, port }) ? flow : undefined
        })
        deleted += await this.#delete(stale)
      }
    }
    return { deleted }
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
  }

  /** Deletions of the flows that match these filters of one family and protocol. */
  #stale(filters: readonly FlowFilter[]): Promise<OutgoingMessage[]> {
    const { family, protocol, port } = filters[0]!
    const matcher = new FlowMatcher(filters)
    const only = filters.every((filter) => filter.port === port) ? port : undefined
    const isWaiting = protocol === 'TCP'
    return this.#deletions({ family, protocol, port: only, isWaiting }, (message) => {
      if (!matcher.concerns(message)) return undefined
      const flow = decodeFlow(message)
      return flow !== undefined && matcher.matches(flow) ? flow : undefined
    })
  }

  /** Deletions of the flows that `find` returns. */
  async #deletions(
    flows: DumpFilter,
    find: (message: NetlinkMessage) => Flow | undefined,
  ): Promise<OutgoingMessage[]> {
    const deletions: OutgoingMessage[] = []
    const errno = await this.#connect().dump(encodeFlowDump(flows), () => {
      deletions.length = 0
      return (message) => {
        const flow = find(message)
        if (flow !== undefined) deletions.push(encodeFlowDeletion(flows.family, flow))
      }
    })
    if (errno !== 0) throw refused('list', errno)
    return deletions
  }

  async #delete(deletions: readonly OutgoingMessage[]): Promise<number> {
    let deleted = 0
    for (const batch of inGroups(deletions, BATCH)) {
      const errors = await this.#connect().batch(batch)
      for (const errno of errors.values()) {
        if (errno !== constants.errno.ENOENT) throw refused('delete', errno)
      }
      deleted += batch.length - errors.size
    }
    return deleted
  }

  #connect(): NetlinkSession {
    this.#session ??= new NetlinkSession(this.#open, this.#clock)
    return this.#session
  }
}

/** Filters by family and protocol: the table is read once for each group. */
function groupsOf(filters: readonly FlowFilter[]): readonly (readonly FlowFilter[])[] {
  const families: readonly Family[] = [4, 6]
  const protocols: readonly FlowProtocol[] = ['UDP', 'SCTP', 'TCP']
  return families
    .flatMap((family) =>
      protocols.map((protocol) =>
        filters.filter((each) => each.family === family && each.protocol === protocol),
      ),
    )
    .filter((group) => group.length > 0)
}

/** A text for bytes, as a key of a set. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1')
}

const { EINVAL, EPERM, EPROTONOSUPPORT } = constants.errno
const LOAD_MODULE = 'load the kernel module: modprobe nf_conntrack_netlink'
const HINTS: ReadonlyMap<number, string> = new Map([
  [EPERM, 'run with CAP_NET_ADMIN'],
  [EINVAL, LOAD_MODULE],
  [EPROTONOSUPPORT, LOAD_MODULE],
])

function refused(what: string, errno: number): NodeProxyError {
  const reason = getSystemErrorName(-errno)
  const hint = HINTS.get(errno)
  const details = hint === undefined ? {} : { hint }
  return new NodeProxyError('NP_KERNEL_NETLINK', `conntrack: ${what} refused: ${reason}`, details)
}

/** Decides which flows of one family to delete. */
class FlowMatcher {
  readonly #filters = new Map<number, FlowFilter[]>()
  /** Of the addresses that are meant, by port; undefined as a value: all addresses are. */
  readonly #numbers = new Map<number, Set<number> | undefined>()

  constructor(filters: readonly FlowFilter[]) {
    for (const filter of filters) {
      this.#note(filter)
      const key = keyOf(PROTOCOLS[filter.protocol], filter.port)
      const same = this.#filters.get(key)
      if (same === undefined) this.#filters.set(key, [filter])
      else same.push(filter)
    }
  }

  /**
   * Whether a flow may match, by its address and port: a cheap check before it is decoded. There may be very many to
   * other addresses with the same port, half-open ones of a SYN flood for example.
   */
  concerns(message: NetlinkMessage): boolean {
    const port = destinationPortOf(message)
    const numbers = this.#numbers.get(port)
    if (numbers === undefined) return this.#numbers.has(port)
    return numbers.has(destinationNumberOf(message))
  }

  #note({ ip, port }: FlowFilter): void {
    if (ip === 'node') this.#numbers.set(port, undefined)
    else if (!this.#numbers.has(port)) this.#numbers.set(port, new Set([addressNumber(ip)]))
    else this.#numbers.get(port)?.add(addressNumber(ip))
  }

  matches(flow: Flow): boolean {
    const { protocol, destinationPort } = flow.original
    const filters = this.#filters.get(keyOf(protocol, destinationPort))
    return filters?.some((filter) => isStale(flow, filter)) ?? false
  }
}

function isStale(flow: Flow, filter: FlowFilter): boolean {
  if (filter.protocol === 'TCP' && (flow.isAnswered || !isRewritten(flow))) return false
  const meant = filter.ip === 'node' ? !isForeignMasquerade(flow) : isSentTo(flow, filter.ip)
  const isOurs = filter.ownPorts?.has(flow.reply.sourcePort) ?? false
  return meant && !isOurs && !filter.keep.has(backendOf(flow))
}

/**
 * Whether rules of other programs masqueraded the flow on its way through this node: if it were deleted, its next packet
 * might be masqueraded with another source port.
 */
function isForeignMasquerade(flow: Flow): boolean {
  return !isRewritten(flow) && isMasqueraded(flow)
}

function keyOf(protocol: number, port: number): number {
  return protocol * 65_536 + port
}
