import { ERRNO } from '../../../../kernel/sockets/constants.ts'
import { AF_INET6, SOCKET_ADDRESS_BYTES } from '../../../../kernel/sockets/socket-address.ts'
import { type AdmissionParts, admit } from '../admission.ts'
import type { Listener } from '../messages.ts'
import type { Handler } from './event-loop.ts'
import { type LinkParts, linkTcp } from './tcp-link.ts'

/** Milliseconds to wait after accept(2) failed. */
const PAUSE_MS = 100
/** Clients that are accepted before other descriptors have their turn. */
const AT_ONCE = 64

/** What all TCP listeners of a thread share. */
export interface NativeListenerParts extends LinkParts, AdmissionParts {}

/** A listening socket: every client gets a link to a backend, or a reset. */
export class TcpListener implements Handler {
  readonly #parts: NativeListenerParts
  readonly #listener: Listener
  #cancelPause: () => void = () => undefined
  readonly #peer = new Uint8Array(SOCKET_ADDRESS_BYTES)

  constructor(parts: NativeListenerParts, listener: Listener) {
    this.#parts = parts
    this.#listener = listener
  }

  /** Serves clients that the kernel has already accepted before closing, which would reset them. */
  close(): void {
    this.#cancelPause()
    while (this.#acceptSome());
    this.#parts.loop.forget(this.#listener.socket)
  }

  ready(): void {
    const { sys } = this.#parts.io.sockets
    if (!this.#acceptSome() && sys.errno() !== ERRNO.again) this.#pause()
  }

  /** Accepts some clients; returns whether more may be waiting. If not, `errno` has the reason. */
  #acceptSome(): boolean {
    const { sockets } = this.#parts.io
    for (let count = 0; count < AT_ONCE; count++) {
      const client = sockets.accept(this.#listener.socket, this.#peer)
      if (client < 0) return false
      if (!this.#admit(client)) {
        sockets.resetOnClose(client)
        sockets.sys.close(client)
      }
    }
    return true
  }

  /** Most likely there are no free descriptors: trying again at once would only waste processor time. */
  #pause(): void {
    const { loop } = this.#parts
    const { socket } = this.#listener
    loop.forget(socket)
    this.#cancelPause = loop.after(PAUSE_MS, () => loop.watchReadable(socket, this, true))
  }

  #admit(socket: number): boolean {
    const { io, loop, counters } = this.#parts
    const { at, side } = this.#listener
    const client = this.#peer.slice()
    const isIpv6 = client[0] === AF_INET6
    const destination = at ?? io.sockets.originalDestination(socket, isIpv6)
    if (destination === undefined) {
      counters.add('unserved')
      return false
    }
    const request = { side, client, destination: Uint8Array.from(destination), now: loop.now }
    const selection = admit(this.#parts, 'TCP', request)
    if (selection) linkTcp(this.#parts, socket, selection)
    return selection !== undefined
  }
}
