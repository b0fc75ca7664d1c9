import { createSocket, type Socket } from 'node:dgram'
import { hostKey, ipOf, portOf } from '../../../../kernel/sockets/socket-address.ts'
import { familyOf } from '../../../../lib/ip.ts'
import type { BackendState } from '../backend-state.ts'
import type { Selection } from '../selection.ts'
import type { Session } from '../session.ts'
import { DATAGRAM_OPTIONS, sendDatagram } from './datagram.ts'
import type { ListenerParts } from './open-listener.ts'

/** A datagram that is too long or meets a full send buffer is lost, as on any network. */
const HARMLESS: ReadonlySet<string | undefined> = new Set(['EAGAIN', 'EMSGSIZE', 'ENOBUFS'])
/** Datagrams that wait until the socket is connected, which takes a turn of the event loop. */
const MAX_WAITING = 64

/** The backend of a flow, and what its listener does with answers and at its end. */
export interface FlowEnds {
  readonly state: BackendState
  readonly onAnswer: (datagram: Uint8Array) => void
  readonly onEnd: () => void
  /** The backend is not there; `datagram` is what it was sent last, and never answered. */
  readonly onRefused: (datagram: Uint8Array) => void
}

/** One client that talks to one address of a Service over UDP. */
export class UdpFlow implements Session {
  readonly protocol = 'UDP'
  readonly client: string
  lastActive = Date.now()
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
    this.lastActive = Date.now()
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
    this.lastActive = Date.now()
    this.#ends.state.succeeded()
    this.#isAnswered = true
    this.#last = undefined
    this.bytesOut += datagram.length
    this.#parts.counters.add('bytesOut', datagram.length)
    this.#ends.onAnswer(datagram)
  }

  /** The backend is not there. */
  #failed({ code }: NodeJS.ErrnoException): void {
    if (this.#isOver || HARMLESS.has(code)) return
    this.#selection.failed(this.#ends.state, Date.now())
    this.abort()
    if (this.#last) this.#ends.onRefused(this.#last)
  }
}
