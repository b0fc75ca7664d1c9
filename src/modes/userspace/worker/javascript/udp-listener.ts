import { createSocket, type RemoteInfo, type Socket, type SocketOptions } from 'node:dgram'
import { once } from 'node:events'
import {
  hostKey,
  ipOf,
  portOf,
  type SocketAddress,
  socketAddress,
} from '../../../../kernel/sockets/socket-address.ts'
import { monotonicMs } from '../../../../lib/clock.ts'
import { familyOf, type IpAddress, parseIp } from '../../../../lib/ip.ts'
import { type AdmissionParts, admit } from '../admission.ts'
import type { BackendState } from '../backend-state.ts'
import type { ListenerAddress } from '../route-table.ts'
import type { Selection } from '../selection.ts'
import type { Session } from '../session-table.ts'
import type { BufferPool } from './read-buffer.ts'

/** An address at which this worker listens. */
export interface OpenListener {
  /**
   * Stops listening. TCP connections go on, and clients that the kernel has accepted are served; UDP flows end,
   * because they answer from the listener's socket.
   */
  close(): Promise<void>
}

/** What all listeners of a worker share. */
export interface ListenerParts extends AdmissionParts {
  readonly buffers: BufferPool
  /** Milliseconds that one backend may take to accept. */
  readonly connectMs: number
}

/** The errors of a datagram that is too long or meets a full send buffer: it is lost, as on any network. */
const HARMLESS: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EMSGSIZE', 'ENOBUFS'])
/** Datagrams that wait until the socket is connected, which takes a round of the event loop. */
const MAX_WAITING = 64
/** Bytes that may wait for space in the kernel's send buffer; later datagrams are lost. */
const MAX_UNSENT = 1 << 20

/** Addresses are numbers already, so that nothing has to be looked up. */
const DATAGRAM_OPTIONS = {
  lookup: (host, _options, callback) => callback(null, host, familyOf(host as IpAddress)),
} as const satisfies Partial<SocketOptions>

/** Binds a socket from which each client has a flow to one backend. Rejects when it cannot bind. */
export async function openUdpListener(
  parts: ListenerParts,
  { ip, port }: ListenerAddress,
): Promise<OpenListener> {
  const type = familyOf(ip) === 6 ? 'udp6' : 'udp4'
  const shared = { ipv6Only: type === 'udp6', reusePort: true }
  const socket = createSocket({ ...DATAGRAM_OPTIONS, ...shared, type })
  const listening = once(socket, 'listening')
  socket.bind({ address: ip, port, exclusive: true })
  try {
    await listening
  } catch (error) {
    socket.close()
    throw error
  }
  return new UdpListener(parts, socket, socketAddress(ip, port))
}

/** A client without a backend so far. */
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
    // An answer that could not be delivered concerns only its client.
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

  /** Undefined if this client is not served. */
  #admit({ address, port }: RemoteInfo): Selection | undefined {
    const client = peerAddress(address, port)
    const where = { side: 'others', destination: this.#destination } as const
    return client && admit(this.#parts, 'UDP', { ...where, client, now: monotonicMs() })
  }

  /** If a backend refuses the datagram, the next one is tried. */
  #begin(newFlow: NewFlow, datagram: Uint8Array): void {
    const { key, from, selection } = newFlow
    const state = selection.next(monotonicMs())
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

/** The backend of a flow, and what its listener does with answers and at its end. */
interface FlowEnds {
  readonly state: BackendState
  readonly onAnswer: (datagram: Uint8Array) => void
  readonly onEnd: () => void
  /** Called when the backend is not there; `datagram` is the last one sent to it, if it never answered. */
  readonly onRefused: (datagram: Uint8Array) => void
}

/** One client that communicates with one address of a Service over UDP. */
class UdpFlow implements Session {
  readonly protocol = 'UDP'
  readonly client: string
  lastActive = monotonicMs()
  bytesIn = 0
  bytesOut = 0
  readonly #parts: ListenerParts
  readonly #selection: Selection
  readonly #ends: FlowEnds
  readonly #server: Socket
  /** Undefined once the socket is connected. */
  #waiting: Uint8Array[] | undefined = []
  #last: Uint8Array | undefined
  #isAnswered = false
  #isOver = false

  constructor(parts: ListenerParts, selection: Selection, ends: FlowEnds) {
    this.#parts = parts
    this.#selection = selection
    this.#ends = ends
    this.client = hostKey(selection.request.client)
    parts.sessionTable.add(this)
    ends.state.sessions.add(this)
    ends.state.began()
    const ip = ipOf(ends.state.address)
    const type = familyOf(ip) === 6 ? 'udp6' : 'udp4'
    this.#server = createSocket({ ...DATAGRAM_OPTIONS, type })
    this.#server.on('error', (error: NodeJS.ErrnoException) => this.#failed(error))
    this.#server.on('message', (datagram) => this.#answered(datagram))
    this.#server.once('connect', () => this.#connected())
    this.#server.connect(portOf(ends.state.address), ip)
  }

  pass(datagram: Uint8Array): void {
    this.lastActive = monotonicMs()
    if (!this.#isAnswered) this.#last = datagram
    if (this.#waiting === undefined) this.#send(datagram)
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(datagram)
  }

  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ends.state.leave(this)
    this.#server.close()
    this.#ends.onEnd()
    this.#parts.sessionTable.remove(this)
  }

  #connected(): void {
    if (this.#isOver) return
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const datagram of waiting) this.#send(datagram)
  }

  #send(datagram: Uint8Array): void {
    if (this.#isOver) return
    this.bytesIn += datagram.length
    this.#parts.counters.add('bytesIn', datagram.length)
    sendDatagram(this.#server, datagram, undefined, (error) => this.#failed(error))
  }

  #answered(datagram: Uint8Array): void {
    if (this.#isOver) return
    this.lastActive = monotonicMs()
    this.#ends.state.succeeded()
    this.#isAnswered = true
    this.#last = undefined
    this.bytesOut += datagram.length
    this.#parts.counters.add('bytesOut', datagram.length)
    this.#ends.onAnswer(datagram)
  }

  /** Called when the backend is not there. */
  #failed({ code }: NodeJS.ErrnoException): void {
    if (this.#isOver || HARMLESS.has(code)) return
    this.#selection.failed(this.#ends.state, monotonicMs())
    this.abort()
    if (this.#last) this.#ends.onRefused(this.#last)
  }
}

/** The address of a peer, from Node's text such as `fe80::1%eth0`; undefined if the peer is gone already. */
export function peerAddress(text = '', port = 0): SocketAddress | undefined {
  const zone = text.indexOf('%')
  const ip = parseIp(zone < 0 ? text : text.slice(0, zone))
  return ip && socketAddress(ip, port)
}

/** The destination of one datagram of an unconnected socket. */
interface DatagramTarget {
  readonly address: string
  readonly port: number
}

/** Sends to a target, or where the socket is connected to; the error comes back by `onError`. */
function sendDatagram(
  socket: Socket,
  datagram: Uint8Array,
  target: DatagramTarget | undefined,
  onError: (error: NodeJS.ErrnoException) => void = () => undefined,
): void {
  if (socket.getSendQueueSize() > MAX_UNSENT) return
  const onSent = (error: NodeJS.ErrnoException | null) => {
    if (error) onError(error)
  }
  if (target) socket.send(datagram, target.port, target.address, onSent)
  else socket.send(datagram, onSent)
}
