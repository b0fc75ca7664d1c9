import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { SOCK } from '../sockets/constants.ts'
import { openSyscalls, type Syscalls } from '../sockets/syscalls.ts'
import type {
  AddressConflict,
  LinkStatus,
  NeighbourResponder,
  OpenNeighbourResponder,
  ResponderCounts,
  ResponderHandlers,
} from './neighbour-responder.ts'
import { neighbourError } from './packet-socket.ts'

/** Heap size of the thread in MiB; it keeps little more than the addresses. */
const HEAP = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 } as const

/** The counters in the order in which a thread has them in its memory. */
export const COUNTERS = [
  'answered',
  'announced',
  'ignored',
  'unsent',
  'conflicting',
] as const satisfies readonly (keyof ResponderCounts)[]

/** What the thread is started with. */
export interface ResponderSetup {
  readonly device: string
  readonly port: MessagePort
  /** An event counter that is written after each order. */
  readonly wake: number
  /** One number for each of `COUNTERS`, which this thread alone writes. */
  readonly counts: Float64Array
}

/** A message to the thread: without addresses, to end. */
export interface ResponderOrder {
  readonly number: number
  readonly addresses?: ReadonlyMap<IpAddress, number>
}

/** An error as a message between threads, which loses the class of an error. */
export interface SentError {
  readonly code: string
  readonly message: string
  readonly hint?: string
}

/** A message from the thread. */
export type ResponderMessage =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly error: SentError }
  | { readonly kind: 'done'; readonly number: number }
  | { readonly kind: 'conflict'; readonly conflict: AddressConflict }
  | { readonly kind: 'link'; readonly status: Exclude<LinkStatus, { readonly state: 'failed' }> }
  | { readonly kind: 'failed'; readonly error: SentError }

/**
 * Opens responders that answer from a thread of their own: neither work of the main thread nor its garbage collection
 * delays an answer, and an address expires while the main thread hangs.
 */
export const openWorkerResponder: OpenNeighbourResponder = async (device, handlers) => {
  const sys = openSyscalls()
  if (sys === undefined) {
    const message = 'addresses cannot be announced: this Node has no node:ffi'
    throw new NodeProxyError('NP_KERNEL_NEIGHBOURS', message, {
      hint: 'run node-proxy with the Node that it brings',
    })
  }
  const wake = sys.eventfd(0, SOCK.nonBlocking | SOCK.closeOnExec)
  if (wake < 0) throw neighbourError('open an event counter', sys.errno())
  const responder = new WorkerResponder({ sys, wake }, device, handlers)
  await responder.opened
  return responder
}

class WorkerResponder implements NeighbourResponder {
  /** Rejects with NP_KERNEL_NEIGHBOURS. */
  readonly opened: Promise<void>
  readonly #sys: Syscalls
  readonly #handlers: ResponderHandlers
  readonly #wake: number
  readonly #counts = new Float64Array(
    new SharedArrayBuffer(COUNTERS.length * Float64Array.BYTES_PER_ELEMENT),
  )
  readonly #port: MessagePort
  readonly #worker: Worker
  readonly #waiting = new Map<number, () => void>()
  readonly #opening = Promise.withResolvers<void>()
  readonly #ended = Promise.withResolvers<void>()
  #last = 0
  #isOpen = false
  #isEnding = false
  #isLost = false

  constructor(
    { sys, wake }: { readonly sys: Syscalls; readonly wake: number },
    device: string,
    handlers: ResponderHandlers,
  ) {
    this.#sys = sys
    this.#wake = wake
    this.#handlers = handlers
    this.opened = this.#opening.promise
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#port.on('message', (message: ResponderMessage) => this.#receive(message))
    this.#worker = new Worker(new URL('./responder-worker.ts', import.meta.url), {
      workerData: {
        device,
        port: port2,
        wake: this.#wake,
        counts: this.#counts,
      } satisfies ResponderSetup,
      transferList: [port2],
      resourceLimits: HEAP,
    })
    this.#worker.on('error', (error: Error) => this.#end(lostError(error.message)))
    this.#worker.on('exit', (code) => this.#end(lostError(`its thread ended with ${code}`)))
  }

  announce(addresses: ReadonlyMap<IpAddress, number>): Promise<void> {
    return this.#give({ addresses })
  }

  counts(): ResponderCounts {
    const [answered = 0, announced = 0, ignored = 0, unsent = 0, conflicting = 0] = this.#counts
    return { answered, announced, ignored, unsent, conflicting }
  }

  async close(): Promise<void> {
    this.#isEnding = true
    this.#worker.ref()
    void this.#give({})
    await this.#ended.promise
  }

  #give(order: Omit<ResponderOrder, 'number'>): Promise<void> {
    if (this.#isLost) return Promise.resolve()
    const number = ++this.#last
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve)
      this.#port.ref()
      this.#port.postMessage({ ...order, number } satisfies ResponderOrder)
      this.#ring()
    })
  }

  #ring(): void {
    const { view, address } = this.#sys.allocate(8)
    view.setUint32(0, 1, true)
    this.#sys.write(this.#wake, address, 8)
  }

  #receive(message: ResponderMessage): void {
    if (message.kind === 'opened') this.#open()
    else if (message.kind === 'refused') this.#refuse(message.error)
    else if (message.kind === 'done') this.#finish(message.number)
    else if (message.kind === 'conflict') this.#handlers.onConflict(message.conflict)
    else if (message.kind === 'link') this.#handlers.onLink(message.status)
    else this.#handlers.onLink({ state: 'failed', error: errorOf(message.error) })
  }

  #open(): void {
    this.#isOpen = true
    this.#worker.unref()
    this.#port.unref()
    this.#opening.resolve()
  }

  #refuse(error: SentError): void {
    this.#isEnding = true
    this.#opening.reject(errorOf(error))
  }

  #finish(number: number): void {
    this.#waiting.get(number)?.()
    this.#waiting.delete(number)
    if (this.#waiting.size === 0) this.#port.unref()
  }

  #end(error: NodeProxyError): void {
    if (this.#isLost) return
    // The thread may have ended before its last messages were delivered.
    for (let next = receiveMessageOnPort(this.#port); next; ) {
      this.#receive(next.message as ResponderMessage)
      next = receiveMessageOnPort(this.#port)
    }
    this.#isLost = true
    this.#port.close()
    this.#sys.close(this.#wake)
    for (const resolve of this.#waiting.values()) resolve()
    this.#waiting.clear()
    this.#ended.resolve()
    if (this.#isEnding) return
    if (this.#isOpen) this.#handlers.onLost(error)
    else this.#opening.reject(error)
  }
}

function errorOf({ code, message, hint }: SentError): NodeProxyError {
  return new NodeProxyError(code, message, hint === undefined ? {} : { hint })
}

function lostError(reason: string): NodeProxyError {
  return new NodeProxyError(
    'NP_KERNEL_NEIGHBOURS',
    `addresses are not announced any more: ${reason}`,
  )
}
