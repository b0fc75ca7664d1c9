import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { isDeepEqual } from '../../lib/equal.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { inGroups } from '../../lib/groups.ts'
import { type Family, hostPort } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import { findAttribute, findU32 } from '../netlink/attribute.ts'
import {
  commandOf,
  GENERIC_HEADER,
  GenericFamily,
  type GenericRequest,
} from '../netlink/generic.ts'
import type { KernelError } from '../netlink/kernel-error.ts'
import type { NetlinkMessage } from '../netlink/message.ts'
import { type BatchAnswer, NetlinkSession } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import { encodeCommand, encodeFlush, encodeZero } from './commands.ts'
import {
  type Ipvs,
  type IpvsCommand,
  type IpvsCommandError,
  type IpvsInfo,
  type IpvsTimeouts,
  type RealServer,
  type RealServerState,
  type VirtualServer,
  type VirtualServerId,
  virtualServerKey,
} from './ipvs.ts'
import { decodeServer } from './real-server.ts'
import { decodeService, writeService } from './virtual-server.ts'
import { CMD_ATTR, COMMAND, IPVS_FAMILY, ipvsRequest } from './wire.ts'

const { errno: ERRNO } = constants

/** linux/ip_vs.h: enum IPVS_INFO_ATTR_*. */
const VERSION = 1
const TABLE_SIZE = 2

/** Commands in one datagram. */
const BATCH = 500

/** ip_vs by generic netlink. The socket is opened with the first call. */
export class NetlinkIpvs implements Ipvs {
  readonly #open: OpenTransport
  readonly #clock: Clock
  #socket: IpvsSocket | undefined

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async info(): Promise<IpvsInfo> {
    return required(await this.#connect().read('information', encodeGetInfo(), decodeGetInfo))
  }

  async run(commands: readonly IpvsCommand[]): Promise<readonly IpvsCommandError[]> {
    return runCommands(this.#connect(), commands)
  }

  async services(): Promise<readonly VirtualServer[]> {
    return this.#connect().services()
  }

  async service(id: VirtualServerId): Promise<VirtualServer | undefined> {
    return this.#connect().service(id)
  }

  async servers(id: VirtualServerId): Promise<readonly RealServerState[] | undefined> {
    return this.#connect().servers(id)
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
    return required(await this.#connect().read('timeouts', encodeGetConfig(), decodeGetConfig))
  }

  async setTimeouts(timeouts: Partial<IpvsTimeouts>): Promise<void> {
    await this.#connect().command('timeouts', encodeSetConfig(timeouts))
  }

  async zero(id?: VirtualServerId): Promise<boolean> {
    return this.#connect().command('zeroing of counters', encodeZero(id))
  }

  async flush(): Promise<void> {
    await this.#connect().command('flush', encodeFlush())
  }

  close(): void {
    this.#socket?.close()
    this.#socket = undefined
  }

  #connect(): IpvsSocket {
    this.#socket ??= new IpvsSocket(this.#open, this.#clock)
    return this.#socket
  }
}

function required<T>(answer: T | undefined): T {
  if (answer !== undefined) return answer
  throw new NodeProxyError('NP_KERNEL_NETLINK', 'ipvs: the kernel sent an answer without content')
}

/** Runs commands in batches; returns the refusals, by index. */
export async function runCommands(
  socket: IpvsSocket,
  commands: readonly IpvsCommand[],
): Promise<readonly IpvsCommandError[]> {
  const refusals: IpvsCommandError[] = []
  let start = 0
  for (const batch of inGroups(commands, BATCH)) {
    refusals.push(...(await runBatch(socket, batch, start)))
    start += batch.length
  }
  return refusals.sort((a, b) => a.index - b.index)
}

async function runBatch(
  socket: IpvsSocket,
  batch: readonly IpvsCommand[],
  start: number,
): Promise<readonly IpvsCommandError[]> {
  const { refusals, repeated } = await socket.transact(batch.map(encodeCommand))
  const described: IpvsCommandError[] = []
  for (const [at, refusal] of refusals) {
    if (repeated && (await hasTakenEffect(socket, batch, at))) continue
    described.push(describeCommandError(start + at, batch[at]!, refusal))
  }
  return described
}

type Decode<T> = (message: NetlinkMessage) => T | undefined

/** One connection to ip_vs. If a read is refused, NP_KERNEL_NETLINK is thrown. */
export class IpvsSocket {
  readonly #session: NetlinkSession
  readonly #family: GenericFamily

  constructor(open: OpenTransport, clock: Clock) {
    this.#session = new NetlinkSession(open, clock)
    this.#family = new GenericFamily(this.#session, { name: IPVS_FAMILY, missing })
  }

  transact(requests: readonly GenericRequest[]): Promise<BatchAnswer> {
    return this.#family.transact(requests)
  }

  /** Sends a command; returns false if its virtual server does not exist (ESRCH). */
  async command(what: string, request: GenericRequest): Promise<boolean> {
    const refusal = await this.#family.request(request, () => undefined)
    if (refusal === undefined) return true
    if (refusal.errno === ERRNO.ESRCH) return false
    throw refused(what, refusal.errno)
  }

  /** Reads one object; undefined if it does not exist. */
  async read<T>(what: string, request: GenericRequest, decode: Decode<T>): Promise<T | undefined> {
    let found: T | undefined
    const refusal = await this.#family.request(request, (message) => {
      found ??= decode(message)
    })
    if (refusal === undefined || refusal.errno === ERRNO.ESRCH) return found
    throw refused(what, refusal.errno)
  }

  async services(): Promise<readonly VirtualServer[]> {
    const found = new Map<string, VirtualServer>()
    const errno = await this.#family.dump(encodeGetService(), () => {
      found.clear()
      return (message) => {
        const service = decodeGetService(message)
        if (service !== undefined) found.set(virtualServerKey(service.id), service)
      }
    })
    if (errno !== 0) throw refused('list of virtual servers', errno)
    return [...found.values()]
  }

  service(id: VirtualServerId): Promise<VirtualServer | undefined> {
    return this.read(virtualServerKey(id), encodeGetService(id), decodeGetService)
  }

  /**
   * For a virtual server that does not exist the kernel lists nothing, so the virtual server itself is requested as
   * well.
   */
  async servers(id: VirtualServerId): Promise<readonly RealServerState[] | undefined> {
    const found = new Map<string, RealServerState>()
    const errno = await this.#family.dump(encodeGetServers(id), () => {
      found.clear()
      return (message) => {
        const server = decodeGetServers(message, id.family)
        if (server !== undefined) found.set(hostPort(server.ip, server.port), server)
      }
    })
    if (errno !== 0) throw refused(`list of real servers of ${virtualServerKey(id)}`, errno)
    if (found.size === 0 && (await this.service(id)) === undefined) return undefined
    return [...found.values()]
  }

  close(): void {
    this.#session.close()
  }
}

function missing(): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'this kernel has no ip_vs', {
    hint: 'load it: modprobe ip_vs; if there is no such module, install the kernel that has it',
  })
}

function refused(what: string, errno: number): NodeProxyError {
  const message = `ipvs: ${what} refused: ${getSystemErrorName(-errno)}`
  return new NodeProxyError('NP_KERNEL_NETLINK', message, {
    ...(errno === ERRNO.EPERM && { hint: 'run with CAP_NET_ADMIN' }),
  })
}

/** IPVS_CMD_GET_SERVICE: of one virtual server, which may be refused with ESRCH; without an id the dump of all. */
export function encodeGetService(id?: VirtualServerId): GenericRequest {
  return ipvsRequest('getService', (writer) => {
    if (id !== undefined) writeService(writer, id)
  })
}

/** The virtual server in an answer to `encodeGetService`; undefined if its kind is unknown. */
export function decodeGetService(message: NetlinkMessage): VirtualServer | undefined {
  if (commandOf(message) !== COMMAND.newService) return undefined
  const service = findAttribute(message.payload, CMD_ATTR.service, GENERIC_HEADER)
  return service && decodeService(service)
}

/** IPVS_CMD_GET_DEST: a dump, which is empty if the virtual server does not exist. */
export function encodeGetServers(id: VirtualServerId): GenericRequest {
  return ipvsRequest('getServer', (writer) => writeService(writer, id))
}

/** `family`: that of the virtual server. */
export function decodeGetServers(
  message: NetlinkMessage,
  family: Family,
): RealServerState | undefined {
  if (commandOf(message) !== COMMAND.newServer) return undefined
  const server = findAttribute(message.payload, CMD_ATTR.server, GENERIC_HEADER)
  return server && decodeServer(server, family)
}

type Reader = Pick<Ipvs, 'service' | 'servers'>

/**
 * Whether a refused command has taken effect. If a batch was sent twice because answers were lost, a refusal may only
 * mean that the first attempt added (EEXIST) or deleted (ESRCH, ENOENT) the object. Reads the object from the kernel
 * and compares it with the result of the whole batch.
 */
async function hasTakenEffect(
  kernel: Reader,
  batch: readonly IpvsCommand[],
  index: number,
): Promise<boolean> {
  const command = batch[index]!
  const last = batch.findLast((other) => decides(other, command))!
  if (!('server' in command)) {
    const actual = (await kernel.service(command.id))?.settings
    return 'settings' in last ? isDeepEqual(actual, last.settings) : actual === undefined
  }
  const servers = (await kernel.servers(command.id)) ?? []
  const actual = servers.find((server) => addressOf(server) === addressOf(command.server))
  if (!('server' in last) || last.do === 'deleteServer') return actual === undefined
  return actual !== undefined && isDeepEqual(configured(actual), configured(last.server))
}

/** Whether `other` acts on the same object as `command`, or on the virtual server above it. */
function decides(other: IpvsCommand, command: IpvsCommand): boolean {
  if (virtualServerKey(other.id) !== virtualServerKey(command.id)) return false
  if (!('server' in other)) return !('server' in command) || other.do === 'deleteService'
  return 'server' in command && addressOf(other.server) === addressOf(command.server)
}

function addressOf({ ip, port }: Pick<RealServer, 'ip' | 'port'>): string {
  return hostPort(ip, port)
}

function configured(server: RealServer): RealServer {
  const { ip, port, weight, forwarding, upperThreshold, lowerThreshold } = server
  return { ip, port, weight, forwarding, upperThreshold, lowerThreshold }
}

/** IPVS_CMD_GET_INFO. */
export function encodeGetInfo(): GenericRequest {
  return ipvsRequest('getInfo')
}

/** The answer to `encodeGetInfo`; undefined for any other message. */
export function decodeGetInfo(message: NetlinkMessage): IpvsInfo | undefined {
  if (commandOf(message) !== COMMAND.setInfo) return undefined
  const attributes = message.payload.subarray(GENERIC_HEADER)
  const version = findU32(attributes, VERSION)
  const connectionTableSize = findU32(attributes, TABLE_SIZE)
  if (version === undefined || connectionTableSize === undefined) return undefined
  const parts = [16, 8, 0].map((shift) => (version >> shift) & 0xff)
  return { version: parts.join('.'), connectionTableSize }
}

/** IPVS_CMD_GET_CONFIG. */
export function encodeGetConfig(): GenericRequest {
  return ipvsRequest('getConfig')
}

/** If a kernel does not support a protocol, it sends no timeout for it: 0. */
export function decodeGetConfig(message: NetlinkMessage): IpvsTimeouts | undefined {
  if (commandOf(message) !== COMMAND.setConfig) return undefined
  const attributes = message.payload.subarray(GENERIC_HEADER)
  return {
    tcp: findU32(attributes, CMD_ATTR.timeoutTcp) ?? 0,
    tcpFin: findU32(attributes, CMD_ATTR.timeoutTcpFin) ?? 0,
    udp: findU32(attributes, CMD_ATTR.timeoutUdp) ?? 0,
  }
}

/** IPVS_CMD_SET_CONFIG, which may be refused with EINVAL (range). Timeouts that are absent or 0 keep their value. */
export function encodeSetConfig({ tcp, tcpFin, udp }: Partial<IpvsTimeouts>): GenericRequest {
  return ipvsRequest('setConfig', (writer) => {
    if (tcp !== undefined) writer.u32(CMD_ATTR.timeoutTcp, tcp)
    if (tcpFin !== undefined) writer.u32(CMD_ATTR.timeoutTcpFin, tcpFin)
    if (udp !== undefined) writer.u32(CMD_ATTR.timeoutUdp, udp)
  })
}

/** The cause of a refused command, for people. */
export function describeCommandError(
  index: number,
  command: IpvsCommand,
  { errno, text }: KernelError,
): IpvsCommandError {
  const name = getSystemErrorName(-errno)
  const meaning = [meaningOf(command, errno), text && quote(text)].filter(Boolean).join('; ')
  const reason = meaning === '' ? name : `${name}: ${meaning}`
  return { index, errno: name, message: `${command.do} ${subjectOf(command)}: ${reason}` }
}

function subjectOf(command: IpvsCommand): string {
  const service = virtualServerKey(command.id)
  if (!('server' in command)) return service
  return `${service} → ${hostPort(command.server.ip, command.server.port)}`
}

function meaningOf(command: IpvsCommand, errno: number): string {
  const what = 'server' in command ? 'real server' : 'virtual server'
  switch (errno) {
    case ERRNO.EEXIST:
      return `the ${what} exists already; change or delete it`
    case ERRNO.ESRCH:
      return 'the virtual server does not exist; add it first'
    case ERRNO.ENOENT:
      return 'settings' in command ? noScheduler(command.settings.scheduler) : `no such ${what}`
    case ERRNO.ERANGE:
      return 'a weight or a threshold is out of range'
    case ERRNO.EINVAL:
      return 'the kernel does not accept this address or these settings'
    case ERRNO.EAFNOSUPPORT:
      return 'ip_vs of this kernel was built without this IP family'
    case ERRNO.EPERM:
      return 'run with CAP_NET_ADMIN'
    default:
      return ''
  }
}

function noScheduler(scheduler: string): string {
  return `this kernel has no scheduler ${quote(scheduler)}; load it: modprobe ip_vs_${scheduler}`
}
