import type { OriginalDestinations } from '../../../../kernel/sockets/original-destinations.ts'
import { addressKey, type SocketAddress } from '../../../../kernel/sockets/socket-address.ts'
import type { UnreachableSender } from '../../../../kernel/sockets/unreachable.ts'
import { admit } from '../admission.ts'
import type { BackendState } from '../backend-state.ts'
import type { Listener } from '../messages.ts'
import type { Selection } from '../selection.ts'
import type { Handler } from './event-loop.ts'
import type { NativeListenerParts } from './tcp-listener.ts'
import { type FlowParts, UdpFlow } from './udp-flow.ts'

/** Conntrack remembers a silent client longer than this, whatever its settings. */
const REMEMBERED_MS = 5_000
/** Datagrams that are taken before others have their turn. */
const AT_ONCE = 64

/** What all UDP listeners of a thread share. */
export interface UdpListenerParts extends NativeListenerParts, FlowParts {
  readonly originalDestinations: OriginalDestinations
  readonly unreachable: UnreachableSender
}

/** A socket at which clients' datagrams arrive: each client has a flow to one backend. */
export class UdpListener implements Handler {
  readonly #parts: UdpListenerParts
  readonly #listener: Listener
  readonly #flows = new Map<string, UdpFlow>()

  constructor(parts: UdpListenerParts, listener: Listener) {
    this.#parts = parts
    this.#listener = listener
  }

  /** Answers leave by the socket itself, so flows end with it. */
  close(): void {
    this.#parts.loop.forget(this.#listener.socket)
    for (const flow of this.#flows.values()) flow.abort()
  }

  ready(): void {
    const { datagrams } = this.#parts
    for (let count = 0; count < AT_ONCE; count++) {
      const length = datagrams.receive(this.#listener.socket)
      if (length < 0) return
      const { source, destination } = datagrams
      if (destination) this.#take(length, source, destination)
    }
  }

  /** `addressed`: as rules of this node left it. */
  #take(length: number, source: SocketAddress, addressed: SocketAddress): void {
    const key = addressKey(source) + addressKey(addressed)
    const known = this.#flows.get(key)
    if (known && this.#isRight(known, addressed)) {
      if (known.pass(length)) return
    } else known?.abort()
    const [client, from] = [Uint8Array.from(source), Uint8Array.from(addressed)]
    const destination = this.#destinationOf(client, from)
    if (destination === undefined) return
    const { side } = this.#listener
    const request = { side, client, destination, now: this.#parts.loop.now }
    const selection = admit(this.#parts, 'UDP', request)
    if (selection) this.#begin({ key, from, selection }, length)
  }

  #destinationOf(client: SocketAddress, addressed: SocketAddress): SocketAddress | undefined {
    return this.#listener.at ?? this.#parts.originalDestinations.destinationOf(client, addressed)
  }

  /**
   * Whether a flow still goes to its client's destination: the address may now belong to another
   * Service, and once conntrack has forgotten the client, the same client port may send elsewhere.
   */
  #isRight({ request, lastActive }: UdpFlow, addressed: SocketAddress): boolean {
    const { routeTable, loop } = this.#parts
    const { client, destination, match } = request
    if (routeTable.find('UDP', destination)?.served !== match.served) return false
    if (this.#listener.at || loop.now - lastActive < REMEMBERED_MS) return true
    const wanted = this.#parts.originalDestinations.destinationOf(client, addressed)
    return wanted !== undefined && addressKey(wanted) === addressKey(destination)
  }

  /** Goes on until a backend takes the first datagram. */
  #begin(newFlow: NewFlow, length: number): void {
    const { loop, counters, io } = this.#parts
    const { selection } = newFlow
    for (let state = selection.next(loop.now); state; state = selection.next(loop.now)) {
      const flow = this.#connect(newFlow, state)
      if (flow?.pass(length)) return
      if (flow) continue
      if (io.sockets.isExhausted) break
      selection.failed(state, loop.now)
    }
    counters.add('unserved')
    this.#parts.unreachable.send({ ...selection.request, length })
  }

  /** Another backend may take what the first one refused. */
  #tryNext(newFlow: NewFlow, datagram: Uint8Array): void {
    this.#parts.datagrams.load(datagram)
    this.#begin(newFlow, datagram.length)
  }

  #connect(newFlow: NewFlow, state: BackendState): UdpFlow | undefined {
    const { io, mark, sessionTable } = this.#parts
    const { key, from, selection } = newFlow
    const server = io.sockets.connect('udp', state.address, mark)
    if (server < 0) return undefined
    const onEnd = () => {
      this.#flows.delete(key)
      sessionTable.remove(flow)
    }
    const onRefused = (datagram: Uint8Array) => this.#tryNext(newFlow, datagram)
    const ends = { server, replies: this.#listener.socket, from, state, onEnd, onRefused }
    const flow = new UdpFlow(this.#parts, ends, selection)
    this.#flows.set(key, flow)
    sessionTable.add(flow)
    return flow
  }
}

/** A client that has no backend yet. */
interface NewFlow {
  readonly key: string
  /** The address that answers leave by. */
  readonly from: SocketAddress
  readonly selection: Selection
}
