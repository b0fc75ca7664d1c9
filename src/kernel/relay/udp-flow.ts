import { createSocket, type Socket } from 'node:dgram'
import { familyOf } from '../../lib/ip.ts'
import type { RelayAddress } from './relays.ts'

/** Datagrams that wait until the socket is connected, which takes a turn of the event loop. */
const QUEUE = 64

/**
 * One client's socket towards the target. A refusal by the target (ICMP) ends the
 * flow; the client's next datagram begins another.
 */
export class UdpFlow {
  readonly #socket: Socket
  #state: 'connecting' | 'connected' | 'ended' = 'connecting'
  #queue: Buffer[] = []
  #onEnd: () => void = () => undefined

  constructor(target: RelayAddress, onAnswer: (datagram: Buffer) => void) {
    const socket = createSocket(familyOf(target.ip) === 6 ? 'udp6' : 'udp4')
    this.#socket = socket
    socket.on('error', () => this.end())
    socket.on('message', onAnswer)
    socket.once('connect', () => this.#connected())
    socket.connect(target.port, target.ip)
  }

  /** Calls back once, when the flow ended by itself or by `end`. */
  onEnd(callback: () => void): void {
    this.#onEnd = callback
  }

  send(datagram: Buffer): void {
    if (this.#state === 'connected') this.#pass(datagram)
    else if (this.#state === 'connecting' && this.#queue.length < QUEUE) this.#queue.push(datagram)
  }

  end(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#queue = []
    this.#socket.close()
    this.#onEnd()
  }

  #connected(): void {
    if (this.#state !== 'connecting') return
    this.#state = 'connected'
    const queue = this.#queue
    this.#queue = []
    for (const datagram of queue) this.#pass(datagram)
  }

  #pass(datagram: Buffer): void {
    if (this.#state !== 'connected') return
    this.#socket.send(datagram, (error) => {
      if (error !== null) this.end()
    })
  }
}
