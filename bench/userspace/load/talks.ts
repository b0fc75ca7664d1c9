import { EPOLL, ERRNO } from '../../../src/kernel/sockets/constants.ts'
import { Poller } from '../../../src/kernel/sockets/poller.ts'
import type { SocketAddress } from '../../../src/kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import type { NativeMemory } from '../../../src/kernel/sockets/syscalls.ts'
import { PLAIN, REQUEST_BYTES } from '../wire.ts'

const BUFFER_BYTES = 4_096
const BROKEN = EPOLL.err | EPOLL.hup

interface Talk {
  /** The start of the connection, then of each request: `performance.now()`. */
  since: number
  isConnected: boolean
  received: number
}

/** Called with each answer. `ms`: since the connection was begun, or since its last request was sent. */
export type OnAnswer = (socket: number, ms: number) => void

/** Connections that each send a request as soon as possible; the caller decides what follows the answer. */
export class Talks {
  failures = 0
  readonly #sockets: Sockets
  readonly #target: SocketAddress
  readonly #onAnswer: OnAnswer
  readonly #poller: Poller
  readonly #memory: NativeMemory
  readonly #talks = new Map<number, Talk>()

  constructor(sockets: Sockets, target: SocketAddress, onAnswer: OnAnswer) {
    this.#sockets = sockets
    this.#target = target
    this.#onAnswer = onAnswer
    this.#poller = new Poller(sockets.sys)
    this.#memory = sockets.sys.allocate(BUFFER_BYTES)
  }

  /** The number of open connections. */
  get size(): number {
    return this.#talks.size
  }

  /** Opens a connection. @returns false if the kernel refused it at once */
  open(): boolean {
    const since = performance.now()
    const socket = this.#sockets.connect('tcp', this.#target, 0)
    if (socket < 0) {
      this.failures++
      return false
    }
    this.#sockets.set(socket, 'noDelay', 1)
    this.#talks.set(socket, { since, isConnected: false, received: 0 })
    return this.#poller.addEdge(socket)
  }

  /** Sends the next request. */
  sendRequest(socket: number): void {
    const talk = this.#talks.get(socket)
    if (talk === undefined) return
    talk.received = 0
    talk.since = performance.now()
    this.#send(socket)
  }

  /** Closes a connection by a reset, so that no TIME_WAIT remains. */
  close(socket: number): void {
    this.#talks.delete(socket)
    this.#sockets.resetOnClose(socket)
    this.#sockets.sys.close(socket)
  }

  /** Waits for an event, at most `timeoutMs`. */
  wait(timeoutMs: number): void {
    this.#poller.wait(timeoutMs, (socket, events) => this.#ready(socket, events))
  }

  /** Closes all open connections except those to keep. */
  end(keep: ReadonlySet<number> = new Set()): void {
    for (const socket of [...this.#talks.keys()]) if (!keep.has(socket)) this.close(socket)
    this.#poller.close()
  }

  #ready(socket: number, events: number): void {
    const talk = this.#talks.get(socket)
    if (talk === undefined) return
    if (talk.isConnected) this.#read(socket, talk)
    else if ((events & BROKEN) !== 0) this.#fail(socket)
    else if ((events & EPOLL.out) !== 0) {
      talk.isConnected = true
      this.#send(socket)
    }
  }

  #send(socket: number): void {
    this.#memory.bytes[0] = PLAIN
    this.#sockets.send(socket, this.#memory, REQUEST_BYTES)
  }

  #read(socket: number, talk: Talk): void {
    const { sys } = this.#sockets
    const count = sys.recv(socket, this.#memory.address, BUFFER_BYTES, 0)
    if (count <= 0) {
      if (count === 0 || sys.errno() !== ERRNO.again) this.#fail(socket)
      return
    }
    talk.received += count
    if (talk.received >= REQUEST_BYTES) this.#onAnswer(socket, performance.now() - talk.since)
  }

  #fail(socket: number): void {
    this.failures++
    this.close(socket)
  }
}
