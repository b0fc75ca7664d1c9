import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { OpenTransport } from '../../netlink/transport.ts'
import { encodeFlush, encodeZero } from '../codec/commands.ts'
import {
  decodeGetConfig,
  decodeGetInfo,
  encodeGetConfig,
  encodeGetInfo,
  encodeSetConfig,
} from '../codec/configuration.ts'
import {
  type Ipvs,
  type IpvsCommand,
  type IpvsCommandError,
  type IpvsInfo,
  type IpvsTimeouts,
  type RealServerState,
  type VirtualServer,
  type VirtualServerId,
  virtualServerKey,
} from '../ipvs.ts'
import { IpvsSocket } from './ipvs-socket.ts'
import { runCommands } from './run-commands.ts'

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
    return certain(await this.#connect().read('information', encodeGetInfo(), decodeGetInfo))
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
    return certain(await this.#connect().read('timeouts', encodeGetConfig(), decodeGetConfig))
  }

  async setTimeouts(timeouts: Partial<IpvsTimeouts>): Promise<void> {
    await this.#connect().order('timeouts', encodeSetConfig(timeouts))
  }

  async zero(id?: VirtualServerId): Promise<boolean> {
    return this.#connect().order('zeroing of counters', encodeZero(id))
  }

  async flush(): Promise<void> {
    await this.#connect().order('flush', encodeFlush())
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

function certain<T>(answer: T | undefined): T {
  if (answer !== undefined) return answer
  throw new NodeProxyError('NP_KERNEL_NETLINK', 'ipvs: the kernel sent an answer without content')
}
