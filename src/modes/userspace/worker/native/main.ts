import { receiveMessageOnPort } from 'node:worker_threads'
import { Datagrams } from '../../../../kernel/sockets/datagrams.ts'
import { endFastCalls } from '../../../../kernel/sockets/fast-calls.ts'
import { OriginalDestinations } from '../../../../kernel/sockets/original-destinations.ts'
import { PipePool } from '../../../../kernel/sockets/pipes.ts'
import { Poller } from '../../../../kernel/sockets/poller.ts'
import { addressKey, type SocketAddress } from '../../../../kernel/sockets/socket-address.ts'
import { Sockets } from '../../../../kernel/sockets/sockets.ts'
import { openSyscalls, type Syscalls } from '../../../../kernel/sockets/syscalls.ts'
import { UnreachableSender } from '../../../../kernel/sockets/unreachable.ts'
import { admit } from '../admission.ts'
import type { BackendState } from '../backend-state.ts'
import { Dispatcher, MAINTENANCE_MS } from '../dispatcher.ts'
import type { Listener, Order, WorkerSetup } from '../messages.ts'
import type { Selection } from '../selection.ts'
import { EventLoop, type Handler } from './event-loop.ts'
import { type NativeListenerParts, TcpListener } from './tcp-listener.ts'
import { type FlowParts, UdpFlow } from './udp-flow.ts'

/**
 * Milliseconds until conntrack is asked again for the destination of a flow. It forgets a client a second after its last
 * datagram, if it is set so, and sooner if its record is deleted; then the client's port may send to another Service port.
 */
const TRUSTED_MS = 500
/** Datagrams that are read before other descriptors have their turn. */
const AT_ONCE = 64

/** A direction with more bytes than this waiting gets a pipe. */
const BUFFER_BYTES = 1 << 16
/** For all workers together; two descriptors each. */
const MAX_PIPES = 256

/** The life of a native worker, from its setup to the order to end: it blocks this thread. */
export function runNativeWorker(setup: WorkerSetup): void {
  endFastCalls()
  const sys = openSyscalls()
  if (sys === undefined) throw new TypeError('a native worker needs node:ffi')
  new NativeWorker(setup, sys).run()
}

class NativeWorker implements Handler {
  readonly #setup: WorkerSetup
  readonly #sys: Syscalls
  readonly #wakeMemory
  readonly #poller: Poller
  readonly #loop: EventLoop
  readonly #dispatcher: Dispatcher
  readonly #parts: UdpListenerParts
  readonly #listeners = new Map<number, TcpListener | UdpListener>()

  constructor(setup: WorkerSetup, sys: Syscalls) {
    this.#setup = setup
    this.#sys = sys
    this.#wakeMemory = sys.allocate(8)
    const sockets = new Sockets(sys)
    this.#poller = new Poller(sys)
    this.#loop = new EventLoop(sockets, this.#poller)
    this.#dispatcher = new Dispatcher(setup)
    const { routeTable, sessionTable, selection } = this.#dispatcher
    const pipes = new PipePool(sys, Math.ceil(MAX_PIPES / setup.workers))
    this.#parts = {
      loop: this.#loop,
      routeTable,
      sessionTable,
      ...selection,
      datagrams: new Datagrams(sys),
      unreachable: new UnreachableSender(sys),
      originalDestinations: new OriginalDestinations(sys),
      io: { sockets, pipes, buffer: sys.allocate(BUFFER_BYTES) },
      connectMs: setup.limits.connectMs,
      mark: setup.mark,
    }
  }

  run(): void {
    this.#loop.watchReadable(this.#setup.wake, this)
    this.#runMaintenance()
    this.ready()
    this.#loop.run()
    this.#parts.io.pipes.close()
    this.#parts.unreachable.close()
    this.#parts.originalDestinations.close()
    this.#poller.close()
  }

  /** Called when the main thread has sent a message. */
  ready(): void {
    this.#sys.read(this.#setup.wake, this.#wakeMemory.address, 8)
    const { port } = this.#setup
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      this.#carryOut(next.message as Order)
    }
  }

  #carryOut(order: Order): void {
    for (const socket of order.close ?? []) this.#close(socket)
    if (order.release) this.#release(order.release)
    this.#dispatcher.apply(order, this.#loop.now)
    for (const listener of order.open ?? []) this.#open(listener)
    if (order.end) {
      this.#dispatcher.sessionTable.abortAll()
      this.#loop.stop()
    }
    this.#setup.port.postMessage(this.#dispatcher.answerTo(order))
  }

  #open(listener: Listener): void {
    const isTcp = listener.protocol === 'TCP'
    const ListenerOfProtocol = isTcp ? TcpListener : UdpListener
    const opened = new ListenerOfProtocol(this.#parts, listener)
    this.#listeners.set(listener.socket, opened)
    this.#loop.watchReadable(listener.socket, opened, isTcp)
  }

  #close(socket: number): void {
    this.#listeners.get(socket)?.close()
    this.#listeners.delete(socket)
  }

  /** Called between two rounds: no event waits for these descriptors, and hardly any client can arrive in between. */
  #release(sockets: readonly number[]): void {
    this.#loop.inNextRound(() => {
      for (const socket of sockets) {
        this.#close(socket)
        this.#sys.close(socket)
      }
    })
  }

  #runMaintenance(): void {
    this.#dispatcher.runMaintenance(this.#loop.now)
    this.#loop.after(MAINTENANCE_MS, () => this.#runMaintenance())
  }
}

/** What all UDP listeners of a thread share. */
interface UdpListenerParts extends NativeListenerParts, FlowParts {
  readonly originalDestinations: OriginalDestinations
  readonly unreachable: UnreachableSender
}

/** A socket at which clients' datagrams arrive: each client has a flow to one backend. */
class UdpListener implements Handler {
  readonly #parts: UdpListenerParts
  readonly #listener: Listener
  readonly #flows = new Map<string, UdpFlow>()

  constructor(parts: UdpListenerParts, listener: Listener) {
    this.#parts = parts
    this.#listener = listener
  }

  /** Answers are sent by the listener's socket, so flows end with it. */
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

  /** `addressed`: the destination after translation by rules of this node. */
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
   * Whether a flow still goes to its client's destination. The address may now belong to another Service, and once
   * conntrack has forgotten the client, the same client port may send elsewhere.
   */
  #isRight(flow: UdpFlow, addressed: SocketAddress): boolean {
    const { routeTable, loop } = this.#parts
    const { client, destination, match } = flow.request
    if (routeTable.find('UDP', destination)?.served !== match.served) return false
    if (this.#listener.at || loop.now - flow.confirmed < TRUSTED_MS) return true
    const wanted = this.#parts.originalDestinations.destinationOf(client, addressed)
    flow.confirmed = loop.now
    return wanted !== undefined && addressKey(wanted) === addressKey(destination)
  }

  /** Tries backends until one accepts the first datagram. */
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

  /** If a backend refuses the datagram, the next one is tried. */
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

/** A client without a backend so far. */
interface NewFlow {
  readonly key: string
  /** The source address of answers. */
  readonly from: SocketAddress
  readonly selection: Selection
}
