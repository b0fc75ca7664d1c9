import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { hostPort } from '../../../lib/ip.ts'
import { GenericFamily, type GenericRequest } from '../../netlink/generic.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import { type BatchAnswer, NetlinkSession } from '../../netlink/session.ts'
import type { OpenTransport } from '../../netlink/transport.ts'
import { IPVS_FAMILY } from '../codec/family.ts'
import {
  decodeGetServers,
  decodeGetService,
  encodeGetServers,
  encodeGetService,
} from '../codec/queries.ts'
import {
  type RealServerState,
  type VirtualServer,
  type VirtualServerId,
  virtualServerKey,
} from '../ipvs.ts'

type Decode<T> = (message: NetlinkMessage) => T | undefined

/** One conversation with ip_vs. Refusals of what is read throw NP_KERNEL_NETLINK. */
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

  /** Sends a command; false: its virtual server does not exist (ESRCH). */
  async order(what: string, request: GenericRequest): Promise<boolean> {
    const refusal = await this.#family.request(request, () => undefined)
    if (refusal === undefined) return true
    if (refusal.errno === constants.errno.ESRCH) return false
    throw refused(what, refusal.errno)
  }

  /** One object; undefined when it is not there. */
  async read<T>(what: string, request: GenericRequest, decode: Decode<T>): Promise<T | undefined> {
    let found: T | undefined
    const refusal = await this.#family.request(request, (message) => {
      found ??= decode(message)
    })
    if (refusal === undefined || refusal.errno === constants.errno.ESRCH) return found
    throw refused(what, refusal.errno)
  }

  async services(): Promise<readonly VirtualServer[]> {
    const found = new Map<string, VirtualServer>()
    const errno = await this.#family.dump(encodeGetService(), (message) => {
      const service = decodeGetService(message)
      if (service !== undefined) found.set(virtualServerKey(service.id), service)
    })
    if (errno !== 0) throw refused('list of virtual servers', errno)
    return [...found.values()]
  }

  service(id: VirtualServerId): Promise<VirtualServer | undefined> {
    return this.read(virtualServerKey(id), encodeGetService(id), decodeGetService)
  }

  /** The kernel lists nothing for a virtual server that is not there, so the virtual server is requested too. */
  async servers(id: VirtualServerId): Promise<readonly RealServerState[] | undefined> {
    const found = new Map<string, RealServerState>()
    const errno = await this.#family.dump(encodeGetServers(id), (message) => {
      const server = decodeGetServers(message, id.family)
      if (server !== undefined) found.set(hostPort(server.ip, server.port), server)
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
    ...(errno === constants.errno.EPERM && { hint: 'run with CAP_NET_ADMIN' }),
  })
}
