import type { EntryId } from '../../../forwarding/entry.ts'
import { ProcListeners } from '../../../kernel/listener/proc-listeners.ts'
import { Sockets } from '../../../kernel/sockets/sockets.ts'
import type { Syscalls } from '../../../kernel/sockets/syscalls.ts'
import type { Family } from '../../../lib/ip.ts'
import { Mutex } from '../../../lib/mutex.ts'
import type { KernelError, TrafficCounts } from '../../mode.ts'
import type { Forwarder, ForwarderOptions, RedirectPorts } from '../forwarder.ts'
import type { Route } from '../route.ts'
import type { RouteTraffic } from '../traffic/route-traffic.ts'
import type { Listener } from '../worker/messages.ts'
import { BoundListeners, type ListenerChange } from './bound-listeners.ts'
import { closeGently } from './close-gently.ts'
import { QUIET_MS, successorCheck } from './successor.ts'
import { openTransparent, type TransparentListeners } from './transparent-listeners.ts'
import { untilIdle } from './until-idle.ts'
import { WakeUp } from './wake-up.ts'
import { WorkerPool } from './worker-pool.ts'

/** Native workers, the sockets that they share, and the routes that all of them serve. */
export class WorkerGroup implements Forwarder {
  readonly dataPath = 'native'
  readonly ports: ReadonlyMap<Family, RedirectPorts>
  readonly #sys: Syscalls
  readonly #transparent: TransparentListeners | undefined
  readonly #listeners: BoundListeners | undefined
  readonly #wakeUps: readonly WakeUp[]
  readonly #pool: WorkerPool
  readonly #mutex = new Mutex()
  readonly #listening = new Map<number, Listener['protocol']>()
  /** Clients at redirected ports wait there until the first routes are known. */
  #waiting: TransparentListeners['listeners']

  constructor(sys: Syscalls, options: ForwarderOptions) {
    this.#sys = sys
    const { workers, listening } = options
    const sockets = new Sockets(sys)
    if (listening === 'transparent') this.#transparent = openTransparent(sockets, options)
    else this.#listeners = new BoundListeners(sockets, workers)
    this.#waiting = this.#transparent?.listeners ?? []
    for (const { socket, protocol } of this.#waiting.flat()) this.#listening.set(socket, protocol)
    this.ports = this.#transparent?.ports ?? new Map()
    this.#wakeUps = Array.from({ length: workers }, () => new WakeUp(sys))
    this.#pool = new WorkerPool(options, this.#wakeUps)
  }

  get ownPorts(): ReadonlySet<number> {
    return new Set([...this.ports.values()].flatMap((sides) => Object.values(sides)))
  }

  get workers(): number {
    return this.#pool.size
  }

  apply(
    changes: ReadonlyMap<EntryId, Route | undefined>,
  ): Promise<ReadonlyMap<EntryId, KernelError>> {
    return this.#mutex.run(async () => {
      const listeners = this.#listeners?.apply(changes)
      const waiting = this.#waiting
      this.#waiting = []
      const orderFor = (worker: number) => ({
        open: waiting[worker] ?? [],
        ...listeners?.changes[worker],
      })
      await this.#pool.applyRoutes(changes, orderFor)
      for (const change of listeners?.changes ?? []) this.#record(change)
      return listeners?.refused ?? new Map<EntryId, KernelError>()
    })
  }

  counts(): TrafficCounts {
    return this.#pool.counts()
  }

  routeTraffic(withBackends: boolean): Promise<readonly RouteTraffic[]> {
    return this.#pool.routeTraffic(withBackends)
  }

  untilIdle(signal: AbortSignal): Promise<void> {
    const counts = () => this.counts()
    const listeners = this.#listeners
    if (listeners === undefined) return untilIdle({ counts }, signal)
    const hasSuccessor = successorCheck(() => listeners.open, new ProcListeners())
    return untilIdle({ counts, hasSuccessor, quietMs: QUIET_MS }, signal)
  }

  async drain(signal: AbortSignal): Promise<void> {
    await this.#mutex.run(() => this.#stopListening(signal))
    await untilIdle({ counts: () => this.counts() }, signal)
  }

  async close(): Promise<void> {
    await this.#mutex.run(async () => {
      await this.#stopListening(AbortSignal.abort())
      await this.#pool.end()
      for (const wakeUp of this.#wakeUps) wakeUp.close()
    })
  }

  #record({ open, close }: ListenerChange): void {
    for (const { socket, protocol } of open) this.#listening.set(socket, protocol)
    for (const socket of close) if (this.#listening.delete(socket)) this.#sys.close(socket)
  }

  /** A listening socket is closed only when no client and no worker waits for it any more. */
  async #stopListening(signal: AbortSignal): Promise<void> {
    const sockets = [...this.#listening]
    this.#listening.clear()
    const tcp = sockets.filter(([, protocol]) => protocol === 'TCP').map(([socket]) => socket)
    await closeGently(this.#sys, tcp, signal)
    const all = sockets.map(([socket]) => socket)
    await this.#pool.give((worker) => (worker === 0 ? {} : { close: all }))
    await this.#pool.give((worker) => (worker === 0 ? { release: all } : {}))
  }
}
