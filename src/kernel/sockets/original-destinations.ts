import { decodeFlow, encodeFlowQuery, type Tuple } from '../conntrack/flow.ts'
import { decodeMessages, encodeMessage } from '../netlink/message.ts'
import { SOCK } from './constants.ts'
import { ipPart, portOf, type SocketAddress, socketAddressOf } from './socket-address.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

const AF_NETLINK = 16
const NETLINK_NETFILTER = 12
const NLM_F_REQUEST = 1
const REPLY_BYTES = 4096

/**
 * The destinations that datagrams had before rules of this node translated them. Each takes one netlink query to
 * conntrack, which the kernel answers before `send` returns. For TCP, use the socket option of
 * `Sockets.originalDestination`.
 */
export class OriginalDestinations {
  readonly #sys: Syscalls
  readonly #memory: NativeMemory
  readonly #socket: number
  #sequence = 0

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#memory = sys.allocate(REPLY_BYTES)
    const type = SOCK.raw | SOCK.nonBlocking | SOCK.closeOnExec
    this.#socket = sys.socket(AF_NETLINK, type, NETLINK_NETFILTER)
  }

  /**
   * The destination to which `client` sent the datagram that arrived at `translated`. Undefined if conntrack does not
   * know the flow, or this process may not read it.
   */
  destinationOf(client: SocketAddress, translated: SocketAddress): SocketAddress | undefined {
    const query = encodeFlowQuery({
      protocol: 'UDP',
      source: ipPart(translated),
      destination: ipPart(client),
      sourcePort: portOf(translated),
      destinationPort: portOf(client),
    })
    const message = encodeMessage({ ...query, flags: NLM_F_REQUEST }, ++this.#sequence)
    const { bytes, address } = this.#memory
    bytes.set(message)
    if (this.#sys.send(this.#socket, address, message.length, 0) < 0) return undefined
    return this.#answer()
  }

  close(): void {
    this.#sys.close(this.#socket)
  }

  #answer(): SocketAddress | undefined {
    const { bytes, address } = this.#memory
    for (;;) {
      const length = this.#sys.recv(this.#socket, address, REPLY_BYTES, 0)
      if (length < 0) return undefined
      for (const answer of decodeMessages(bytes.subarray(0, length))) {
        if (answer.seq !== this.#sequence) continue
        const flow = decodeFlow(answer)
        return flow && addressOf(flow.original)
      }
    }
  }
}

function addressOf({ destination, destinationPort }: Tuple): SocketAddress {
  return socketAddressOf(destination, destinationPort)
}
