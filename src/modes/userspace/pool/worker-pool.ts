import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { createAffinityMemory } from '../../../affinity/affinity-memory.ts'
import { AffinityTable } from '../../../affinity/affinity-table.ts'
import { clientsOwner } from '../../../forwarding/affinity.ts'
import type { EntryId } from '../../../forwarding/entry.ts'
import { SOCK } from '../../../kernel/sockets/constants.ts'
import type { NativeMemory, Syscalls } from '../../../kernel/sockets/syscalls.ts'
import { contentHash } from '../../../lib/hash.ts'
import { systemRandom } from '../../../lib/random.ts'
import type { TrafficCounts } from '../../mode.ts'
import type { ForwarderOptions } from '../forwarder.ts'
import type { RouteTraffic } from '../read-traffic.ts'
import type { Route } from '../route.ts'
import { createCounterMemory, sumCounts } from '../worker/counters.ts'
import type { Answer, Order, WorkerSetup } from '../worker/messages.ts'
import { createOccupancy } from '../worker/occupancy.ts'

/** Heap size of one worker in MiB. Young objects are few; a large young generation would only waste memory. */
const HEAP = { maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 6 } as const

/** The workers of one data path: sends orders to all of them, and sums their counters. */
export class WorkerPool {
  readonly #members: readonly PoolWorker[]
  readonly #counters
  readonly #affinity: AffinityTable
  readonly #sticky = new StickyRoutes()

  /** `wakeUps`: a wake-up descriptor for each native worker. */
  constructor(options: ForwarderOptions, wakeUps: readonly WakeUp[] = []) {
    const { dataPath, workers, limits, mark, onLost } = options
    const affinity = createAffinityMemory(limits.affinityClients, systemRandom)
    this.#affinity = new AffinityTable(affinity)
    const occupancy = createOccupancy(systemRandom)
    this.#counters = Array.from({ length: workers }, createCounterMemory)
    this.#members = this.#counters.map((counters, worker) => {
      const wakeUp = wakeUps[worker]
      const shared = { dataPath, workers, limits, mark, affinity, occupancy }
      return new PoolWorker({
        setup: { ...shared, counters, wake: wakeUp?.descriptor ?? -1 },
        wake: () => wakeUp?.ring(),
        onLost,
      })
    })
  }

  get size(): number {
    return this.#members.length
  }

  /** Resolves to the answers when all workers have carried out the order; a lost worker gives none. */
  give(
    orderFor: (worker: number) => Omit<Order, 'number'>,
  ): Promise<readonly (Answer | undefined)[]> {
    return Promise.all(this.#members.map((member, worker) => member.give(orderFor(worker))))
  }

  /** Like `give`, for changed routes; then forgets affinity groups that have no route any more. */
  async applyRoutes(
    changes: ReadonlyMap<EntryId, Route | undefined>,
    orderFor: (worker: number) => Omit<Order, 'number' | 'routes'>,
  ): Promise<readonly (Answer | undefined)[]> {
    const lost = this.#sticky.apply(changes)
    const routes = [...changes]
    const answers = await this.give((worker) => ({ ...orderFor(worker), routes }))
    if (lost.size > 0) this.#affinity.forgetGroups(lost)
    return answers
  }

  counts(): TrafficCounts {
    const { size, evicted } = this.#affinity
    return { ...sumCounts(this.#counters), affinityClientsNow: size, affinityEvicted: evicted }
  }

  /** What each worker counted; a lost worker reports nothing. */
  async routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]> {
    const answers = await this.give(() => ({ traffic: { withBackends } }))
    return answers.flatMap((answer) => answer?.traffic ?? [])
  }

  /** Resets the remaining connections and ends the threads. */
  async end(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.end()))
  }
}

/** The groups by which clients of routes are remembered, each with the number of routes that use it. */
class StickyRoutes {
  readonly #groups = new Map<EntryId, number>()
  readonly #users = new Map<number, number>()

  /** Returns the groups (`contentHash` of `clientsOwner`) that no route uses any more. */
  apply(changes: ReadonlyMap<EntryId, Route | undefined>): ReadonlySet<number> {
    const left = new Set<number>()
    for (const [id, route] of changes) {
      const before = this.#groups.get(id)
      const group = route?.affinity && contentHash(clientsOwner(route))
      if (group === before) continue
      if (group === undefined) this.#groups.delete(id)
      else this.#groups.set(id, group)
      this.#count(group, 1)
      this.#count(before, -1)
      if (before !== undefined) left.add(before)
    }
    return new Set([...left].filter((group) => !this.#users.has(group)))
  }

  #count(group: number | undefined, more: 1 | -1): void {
    if (group === undefined) return
    const users = (this.#users.get(group) ?? 0) + more
    if (users === 0) this.#users.delete(group)
    else this.#users.set(group, users)
  }
}

/** What a worker thread is started with. */
interface PoolWorkerOptions {
  readonly setup: Omit<WorkerSetup, 'port'>
  /** Makes a native worker look for messages. */
  readonly wake: () => void
  /** Called when the worker has ended by itself. */
  readonly onLost: (error: Error) => void
}

/** One worker thread, which takes orders in turn. */
class PoolWorker {
  readonly #options: PoolWorkerOptions
  readonly #port: MessagePort
  readonly #worker: Worker
  readonly #waiting = new Map<number, (answer?: Answer) => void>()
  readonly #ended = Promise.withResolvers<void>()
  #last = 0
  #isEnding = false
  #isLost = false

  constructor(options: PoolWorkerOptions) {
    this.#options = options
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    this.#port.on('message', (answer: Answer) => this.#answered(answer))
    this.#port.unref()
    this.#worker = new Worker(new URL('./worker-main.ts', import.meta.url), {
      workerData: { ...options.setup, port: port2 } satisfies WorkerSetup,
      transferList: [port2],
      resourceLimits: HEAP,
    })
    this.#worker.unref()
    this.#worker.on('error', (error: Error) => this.#lost(error))
    this.#worker.on('exit', (code) => this.#lost(new Error(`the worker ended with ${code}`)))
  }

  /** Resolves when the worker has carried out the order, or to undefined when it is lost. */
  give(order: Omit<Order, 'number'>): Promise<Answer | undefined> {
    if (this.#isLost) return Promise.resolve(undefined)
    const number = ++this.#last
    return new Promise((resolve) => {
      this.#waiting.set(number, resolve)
      this.#port.ref()
      this.#port.postMessage({ ...order, number } satisfies Order)
      this.#options.wake()
    })
  }

  async end(): Promise<void> {
    this.#isEnding = true
    this.#worker.ref()
    void this.give({ end: true })
    await this.#ended.promise
  }

  #answered(answer: Answer): void {
    const { number } = answer
    this.#waiting.get(number)?.(answer)
    this.#waiting.delete(number)
    if (this.#waiting.size === 0) this.#port.unref()
  }

  #lost(error: Error): void {
    this.#isLost = true
    this.#ended.resolve()
    this.#port.close()
    for (const resolve of this.#waiting.values()) resolve()
    this.#waiting.clear()
    if (!this.#isEnding) this.#options.onLost(error)
    this.#isEnding = true
  }
}

/** An event counter of the kernel (eventfd), by which a thread that waits in epoll is woken up. */
export class WakeUp {
  readonly descriptor: number
  readonly #sys: Syscalls
  readonly #one: NativeMemory

  constructor(sys: Syscalls) {
    this.#sys = sys
    this.#one = sys.allocate(8)
    this.#one.view.setUint32(0, 1, true)
    this.descriptor = sys.eventfd(0, SOCK.nonBlocking | SOCK.closeOnExec)
  }

  ring(): void {
    this.#sys.write(this.descriptor, this.#one.address, 8)
  }

  close(): void {
    this.#sys.close(this.descriptor)
  }
}
