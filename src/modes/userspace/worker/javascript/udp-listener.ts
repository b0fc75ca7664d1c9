import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type SocketAddress, socketAddress } from '../../../../kernel/sockets/socket-address.ts'
import { familyOf } from '../../../../lib/ip.ts'
import { admit } from '../admission.ts'
import type { ListenerAddress } from '../listener-address.ts'
import type { Selection } from '../selection.ts'
import { DATAGRAM_OPTIONS, sendDatagram } from './datagram.ts'
import { type ListenerParts, type OpenListener, peerAddress } from './open-listener.ts'
import { UdpFlow } from './udp-flow.ts'

/** Binds: every client has a flow to one backend. Rejects when it cannot bind. */
export async function openUdpListener(
  parts: ListenerParts,
  { ip, port }: ListenerAddress,
): Promise<OpenListener> {
  const type = familyOf(ip) === 6 ? 'udp6' : 'udp4'
  const shared = { ipv6Only: type === 'udp6', reusePort: true }
  const socket = createSocket({ ...DATAGRAM_OPTIONS, ...shared, type })
  const listening = once(socket, 'listening')
  socket.bind({ address: ip, port, exclusive: true })
  await listening
  return new UdpListener(parts, socket, socketAddress(ip, port))
}

/** A client that has no backend yet. */
interface NewFlow {
  readonly key: string
  readonly from: RemoteInfo
  readonly selection: Selection
}

class UdpListener implements OpenListener {
  readonly #parts: ListenerParts
  readonly #socket: Socket
  readonly #destination: SocketAddress
  readonly #flows = new Map<string, UdpFlow>()

  constructor(parts: ListenerParts, socket: Socket, destination: SocketAddress) {
    this.#parts = parts
    this.#socket = socket
    this.#destination = destination
    socket.on('message', (datagram, from) => this.#take(datagram, from))
    // An answer that could not be delivered concerns its client only.
    socket.on('error', () => undefined)
  }

  async close(): Promise<void> {
    for (const flow of this.#flows.values()) flow.abort()
    this.#socket.close()
  }

  #take(datagram: Uint8Array, from: RemoteInfo): void {
    const key = `${from.address} ${from.port}`
    const flow = this.#flows.get(key)
    if (flow) flow.pass(datagram)
    else {
      const selection = this.#admit(from)
      if (selection) this.#begin({ key, from, selection }, datagram)
    }
  }

  /** Undefined: this client gets nothing. */
  #admit({ address, port }: RemoteInfo): Selection | undefined {
    const client = peerAddress(address, port)
    const where = { side: 'others', destination: this.#destination } as const
    return client && admit(this.#parts, 'UDP', { ...where, client, now: Date.now() })
  }

  /** Another backend may take what the first one refused. */
  #begin(newFlow: NewFlow, datagram: Uint8Array): void {
    const { key, from, selection } = newFlow
    const state = selection.next(Date.now())
    if (state === undefined) {
      this.#parts.counters.add('unserved')
      return
    }
    const flow = new UdpFlow(this.#parts, selection, {
      state,
      onAnswer: (answer) => sendDatagram(this.#socket, answer, from),
      onEnd: () => this.#flows.delete(key),
      onRefused: (refused) => this.#begin(newFlow, refused),
    })
    this.#flows.set(key, flow)
    flow.pass(datagram)
  }
}
