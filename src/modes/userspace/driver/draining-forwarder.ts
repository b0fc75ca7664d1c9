import type { Forwarder } from '../forwarder.ts'

/**
 * A forwarder that remembers whether it drains, that is, has stopped listening. Clients of its predecessor (`former`)
 * need the same rules as its own, so it counts as drained only when both are.
 */
export class DrainingForwarder implements Forwarder {
  readonly #forwarder: Forwarder
  readonly #former: DrainingForwarder | undefined
  #isDraining = false
  #closed: Promise<void> | undefined

  constructor(forwarder: Forwarder, former?: DrainingForwarder) {
    this.#forwarder = forwarder
    this.#former = former
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  get dataPath() {
    return this.#forwarder.dataPath
  }

  get workers() {
    return this.#forwarder.workers
  }

  get ownPorts(): ReadonlySet<number> {
    if (this.#closed) return new Set()
    return new Set([...this.#forwarder.ownPorts, ...(this.#former?.ownPorts ?? [])])
  }

  get ports() {
    return this.#forwarder.ports
  }

  apply(changes: Parameters<Forwarder['apply']>[0]) {
    return this.#forwarder.apply(changes)
  }

  counts() {
    return this.#forwarder.counts()
  }

  routeTraffic(withBackends: boolean) {
    return this.#forwarder.routeTraffic(withBackends)
  }

  untilIdle(signal: AbortSignal): Promise<void> {
    return this.#forwarder.untilIdle(signal)
  }

  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true
    if (this.#closed) return
    await Promise.all([this.#forwarder.drain(signal), this.#former?.drain(signal)])
    if (!signal.aborted) await this.#former?.close()
  }

  close(): Promise<void> {
    this.#closed ??= this.#forwarder.close()
    return this.#closed
  }
}
