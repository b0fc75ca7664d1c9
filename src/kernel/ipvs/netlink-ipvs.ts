import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import { encodeCommand } from './codec/command.ts'
import { encodeFlush } from './codec/flush.ts'
import { decodeGetConfig, encodeGetConfig } from './codec/get-config.ts'
import { decodeGetInfo, encodeGetInfo } from './codec/get-info.ts'
import { encodeSetConfig } from './codec/set-config.ts'
import { encodeZero } from './codec/zero.ts'
import {
  type Ipvs,
  type IpvsCommand,
  type IpvsInfo,
  type IpvsRefusal,
  type IpvsTimeouts,
  type RealServerState,
  type VirtualServer,
  type VirtualServerId,
  virtualServerKey,
} from './ipvs.ts'
import { IpvsSocket } from './ipvs-socket.ts'
import { describeRefusal } from './refusal.ts'
import { hasTakenEffect } from './repeated-batch.ts'

/** Commands in one datagram. */
const BATCH = 500
/** A socket can list the real servers of one virtual server at a time. */
const MOST_SOCKETS = 8
const IDS_PER_SOCKET = 16

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

  async run(commands: readonly IpvsCommand[]): Promise<readonly IpvsRefusal[]> {
    const refusals: IpvsRefusal[] = []
    for (let start = 0; start < commands.length; start += BATCH) {
      const batch = commands.slice(start, start + BATCH)
      for (const refusal of await this.#run(batch)) {
        refusals.push({ ...refusal, index: start + refusal.index })
      }
    }
    return refusals
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
    const left = ids.values()
    const count = Math.min(MOST_SOCKETS, Math.floor(ids.length / IDS_PER_SOCKET))
    const others = Array.from({ length: count }, () => new IpvsSocket(this.#open, this.#clock))
    try {
      const sockets = count === 0 ? [this.#connect()] : others
      await Promise.all(sockets.map((socket) => readServers(socket, left, found)))
    } finally {
      for (const socket of others) socket.close()
    }
    return found
  }

  async timeouts(): Promise<IpvsTimeouts> {
    return certain(await this.#connect().read('time-outs', encodeGetConfig(), decodeGetConfig))
  }

  async setTimeouts(timeouts: Partial<IpvsTimeouts>): Promise<void> {
    await this.#connect().order('time-outs', encodeSetConfig(timeouts))
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

  async #run(batch: readonly IpvsCommand[]): Promise<readonly IpvsRefusal[]> {
    const socket = this.#connect()
    const { refusals, repeated } = await socket.transact(batch.map(encodeCommand))
    const described: IpvsRefusal[] = []
    for (const [index, refusal] of [...refusals].sort(([a], [b]) => a - b)) {
      if (repeated && (await hasTakenEffect(socket, batch, index))) continue
      described.push(describeRefusal(index, batch[index]!, refusal))
    }
    return described
  }

  #connect(): IpvsSocket {
    this.#socket ??= new IpvsSocket(this.#open, this.#clock)
    return this.#socket
  }
}

async function readServers(
  socket: IpvsSocket,
  left: Iterator<VirtualServerId> & Iterable<VirtualServerId>,
  found: Map<string, readonly RealServerState[]>,
): Promise<void> {
  for (const id of left) {
    const servers = await socket.servers(id)
    if (servers !== undefined) found.set(virtualServerKey(id), servers)
  }
}

function certain<T>(answer: T | undefined): T {
  if (answer !== undefined) return answer
  throw new NodeProxyError('NP_KERNEL_NETLINK', 'ipvs: the kernel sent an answer without content')
}
