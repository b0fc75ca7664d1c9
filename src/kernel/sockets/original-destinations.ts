import { decodeFlow, encodeFlowQuery, type Tuple } from '../conntrack/flow.ts'
import { decodeMessages, encodeMessage } from '../netlink/message.ts'
import { SOCK } from './constants.ts'
import { ipPart, portOf, type SocketAddress, socketAddressOf } from './socket-address.ts'
import type { NativeMemory, Syscalls } from './syscalls.ts'

// Constants of linux/socket.h and linux/netlink.h.
const AF_NETLINK = 16
const NETLINK_NETFILTER = 12
const NLM_F_REQUEST = 1
/** The size of the memory for one query or one answer, in bytes. */
const MEMORY_BYTES = 4096

/**
 * Finds the destinations that UDP datagrams had before rules of this node translated them. Each search sends one
 * netlink query to conntrack. The kernel writes its answer before `send` returns, so nothing waits. For TCP
 * connections, use `Sockets.originalDestination`, which reads a socket option.
 */
export class OriginalDestinations {
  readonly #sys: Syscalls
  readonly #memory: NativeMemory
  readonly #socket: number
  #sequence = 0

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#memory = sys.allocate(MEMORY_BYTES)
    const type = SOCK.raw | SOCK.nonBlocking | SOCK.closeOnExec
    this.#socket = sys.socket(AF_NETLINK, type, NETLINK_NETFILTER)
  }

  /**
   * The destination to which `client` sent the datagram that arrived at `translated`. Undefined if conntrack does not
   * know the flow, or this process may not read conntrack.
   */
  destinationOf(client: SocketAddress, translated: SocketAddress): SocketAddress | undefined {
    // The query contains the addresses of replies, so the source is the address at which the datagram arrived.
    const query = encodeFlowQuery({
      protocol: 'UDP',
      source: ipPart(translated),
      destination: ipPart(client),
      sourcePort: portOf(translated),
      destinationPort: portOf(client),
    })
    // A sequence number of netlink has 32 bits.
    this.#sequence = (this.#sequence + 1) >>> 0
    const message = encodeMessage({ ...query, flags: NLM_F_REQUEST }, this.#sequence)
    const { bytes, address } = this.#memory
    bytes.set(message)
    if (this.#sys.send(this.#socket, address, message.length, 0) < 0) return undefined
    return this.#answer()
  }

  /** Closes the netlink socket. No other method may be called afterwards. */
  close(): void {
    this.#sys.close(this.#socket)
  }

  /** Reads the answer to the last query, and skips answers to earlier ones. */
  #answer(): SocketAddress | undefined {
    const { bytes, address } = this.#memory
    for (;;) {
      const length = this.#sys.recv(this.#socket, address, MEMORY_BYTES, 0)
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
