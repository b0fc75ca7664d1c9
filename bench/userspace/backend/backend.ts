import { ERRNO } from '../../../src/kernel/sockets/constants.ts'
import { Poller } from '../../../src/kernel/sockets/poller.ts'
import { SOCKET_ADDRESS_BYTES } from '../../../src/kernel/sockets/socket-address.ts'
import type { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import type { NativeMemory } from '../../../src/kernel/sockets/syscalls.ts'
import { STREAM } from '../wire.ts'
import type { Source } from './source.ts'

const BUFFER_BYTES = 1 << 16
const ACCEPT_AT_ONCE = 64
/** How often it sends on one connection before it serves the others. */
const SEND_AT_ONCE = 4

/** Echoes requests, and on request sends an endless stream. */
export class Backend {
  readonly #sockets: Sockets
  readonly #poller: Poller
  readonly #listeners: ReadonlySet<number>
  readonly #memory: NativeMemory
  readonly #source: Source
  readonly #peer = new Uint8Array(SOCKET_ADDRESS_BYTES)
  readonly #streams = new Set<number>()
  /** Streams whose sockets are believed to accept more data. */
  readonly #writable = new Set<number>()

  constructor(sockets: Sockets, listeners: readonly number[], source: Source) {
    this.#sockets = sockets
    this.#poller = new Poller(sockets.sys)
    this.#listeners = new Set(listeners)
    this.#memory = sockets.sys.allocate(BUFFER_BYTES)
    this.#source = source
    for (const listener of listeners) this.#poller.addReadable(listener)
  }

  /** Never returns. */
  run(): never {
    const onReady = (socket: number) => this.#ready(socket)
    for (;;) {
      this.#poller.wait(this.#writable.size > 0 ? 0 : -1, onReady)
      for (const socket of this.#writable) this.#send(socket)
    }
  }

  #ready(socket: number): void {
    if (this.#listeners.has(socket)) this.#accept(socket)
    else this.#read(socket)
  }

  #accept(listener: number): void {
    for (let count = 0; count < ACCEPT_AT_ONCE; count++) {
      const socket = this.#sockets.accept(listener, this.#peer)
      if (socket < 0) return
      this.#sockets.set(socket, 'noDelay', 1)
      this.#poller.addReadable(socket)
    }
  }

  #read(socket: number): void {
    const { sys } = this.#sockets
    if (this.#streams.has(socket)) this.#writable.add(socket)
    const count = sys.recv(socket, this.#memory.address, BUFFER_BYTES, 0)
    if (count < 0 && sys.errno() === ERRNO.again) return
    if (count <= 0) this.#end(socket)
    else if (this.#memory.bytes[0] === STREAM) this.#stream(socket)
    else this.#sockets.send(socket, this.#memory, count)
  }

  #stream(socket: number): void {
    this.#streams.add(socket)
    this.#writable.add(socket)
    this.#poller.remove(socket)
    this.#poller.addEdge(socket)
  }

  #send(socket: number): void {
    for (let count = 0; count < SEND_AT_ONCE; count++) {
      if (this.#source.sendTo(socket) > 0) continue
      if (this.#sockets.sys.errno() === ERRNO.again) this.#writable.delete(socket)
      else this.#end(socket)
      return
    }
  }

  /** Ends a connection by a reset, so that no side has to remember it. */
  #end(socket: number): void {
    this.#streams.delete(socket)
    this.#writable.delete(socket)
    this.#sockets.resetOnClose(socket)
    this.#sockets.sys.close(socket)
  }
}
