import { receiveMessageOnPort } from 'node:worker_threads'
import { Datagrams } from '../../../../kernel/sockets/datagrams.ts'
import { OriginalDestinations } from '../../../../kernel/sockets/original-destinations.ts'
import { PipePool } from '../../../../kernel/sockets/pipes.ts'
import { Poller } from '../../../../kernel/sockets/poller.ts'
import { Sockets } from '../../../../kernel/sockets/sockets.ts'
import { openSyscalls, type Syscalls } from '../../../../kernel/sockets/syscalls.ts'
import { UnreachableSender } from '../../../../kernel/sockets/unreachable.ts'
import { Dispatcher, MAINTENANCE_MS } from '../dispatcher.ts'
import type { Listener, Order, WorkerSetup } from '../messages.ts'
import { EventLoop, type Handler } from './event-loop.ts'
import { TcpListener } from './tcp-listener.ts'
import { UdpListener, type UdpListenerParts } from './udp-listener.ts'

/** A direction with more bytes than this at once gets a pipe. */
const BUFFER_BYTES = 1 << 16
/** Of all workers; two descriptors each. */
const MAX_PIPES = 256

/** The life of a native worker, from its setup to the order to end: it blocks this thread. */
export function runNativeWorker(setup: WorkerSetup): void {
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
    this.#dispatcher = new Dispatcher(setup, Date.now)
    const { routeTable, sessionTable, selection } = this.#dispatcher
    const pipes = new PipePool(sys, Math.ceil(MAX_PIPES / setup.workers))
    this.#parts = {
      ...{ loop: this.#loop, routeTable, sessionTable, ...selection },
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

  /** The main thread has sent a message. */
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

  /** Between two rounds: no event waits for their numbers, and hardly any client can come between. */
  #release(sockets: readonly number[]): void {
    this.#loop.again(() => {
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
