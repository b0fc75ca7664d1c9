import type { EntryId } from '../../../forwarding/entry.ts'
import { Sockets } from '../../../kernel/sockets/sockets.ts'
import type { Syscalls } from '../../../kernel/sockets/syscalls.ts'
import type { Family } from '../../../lib/ip.ts'
import { Mutex } from '../../../lib/mutex.ts'
import type { Refusal, TrafficCounts } from '../../mode.ts'
import type { EntryPorts, Forwarder, ForwarderOptions } from '../forwarder.ts'
import type { Route } from '../route.ts'
import { DoorListeners, type ListenerChange } from './door-listeners.ts'
import { openTransparent, type TransparentListeners } from './transparent-listeners.ts'
import { WakeUp } from './wake-up.ts'
import { WorkerPool } from './worker-pool.ts'

/** Native workers, the sockets that they share, and the routes that all of them serve. */
export class Crew implements Forwarder {
  readonly dataPath = 'native'
  readonly ports: ReadonlyMap<Family, EntryPorts>
  readonly #sys: Syscalls
  readonly #transparent: TransparentListeners | undefined
  readonly #doors: DoorListeners | undefined
  readonly #wakeUps: readonly WakeUp[]
  readonly #pool: WorkerPool
  readonly #mutex = new Mutex()
  readonly #listening = new Set<number>()

  constructor(sys: Syscalls, options: ForwarderOptions) {
    this.#sys = sys
    const { workers, entrance } = options
    const sockets = new Sockets(sys)
    if (entrance === 'transparent') this.#transparent = openTransparent(sockets, options)
    else this.#doors = new DoorListeners(sockets, workers)
    const mine = this.#transparent?.listeners.flat() ?? []
    for (const { socket } of mine) this.#listening.add(socket)
    this.ports = this.#transparent?.ports ?? new Map()
    this.#wakeUps = Array.from({ length: workers }, () => new WakeUp(sys))
    this.#pool = new WorkerPool(options, this.#wakeUps)
    void this.#pool.give((worker) => ({ open: this.#transparent?.listeners[worker] ?? [] }))
  }

  get ownPorts(): ReadonlySet<number> {
    return new Set([...this.ports.values()].flatMap((sides) => Object.values(sides)))
  }

  get workers(): number {
    return this.#pool.size
  }

  apply(changes: ReadonlyMap<EntryId, Route | undefined>): Promise<ReadonlyMap<EntryId, Refusal>> {
    return this.#mutex.run(async () => {
      const doors = this.#doors?.apply(changes)
      await this.#pool.tell(changes, (worker) => ({ ...doors?.changes[worker] }))
      for (const change of doors?.changes ?? []) this.#keepAccount(change)
      return doors?.refused ?? new Map<EntryId, Refusal>()
    })
  }

  counts(): TrafficCounts {
    return this.#pool.counts()
  }

  untilIdle(signal: AbortSignal): Promise<void> {
    return this.#pool.untilIdle(signal)
  }

  async drain(signal: AbortSignal): Promise<void> {
    await this.#mutex.run(() => this.#stopListening())
    await this.#pool.untilIdle(signal)
  }

  async close(): Promise<void> {
    await this.#mutex.run(async () => {
      await this.#stopListening()
      await this.#pool.end()
      for (const wakeUp of this.#wakeUps) wakeUp.close()
    })
  }

  #keepAccount({ open, close }: ListenerChange): void {
    for (const { socket } of open) this.#listening.add(socket)
    for (const socket of close) if (this.#listening.delete(socket)) this.#sys.close(socket)
  }

  /** A listening socket is closed only when nobody waits for it any more. */
  async #stopListening(): Promise<void> {
    const sockets = [...this.#listening]
    this.#listening.clear()
    await this.#pool.give(() => ({ close: sockets }))
    for (const socket of sockets) this.#sys.close(socket)
  }
}
