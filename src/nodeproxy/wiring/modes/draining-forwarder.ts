import type { Forwarder } from '../../../modes/userspace/forwarder.ts'

/** A forwarder that remembers whether somebody let it drain: it listens no more then. */
export class DrainingForwarder implements Forwarder {
  readonly #forwarder: Forwarder
  #isSpent = false

  constructor(forwarder: Forwarder) {
    this.#forwarder = forwarder
  }

  get isSpent(): boolean {
    return this.#isSpent
  }

  get dataPath() {
    return this.#forwarder.dataPath
  }

  get workers() {
    return this.#forwarder.workers
  }

  get ownPorts() {
    return this.#forwarder.ownPorts
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

  untilIdle(signal: AbortSignal): Promise<void> {
    return this.#forwarder.untilIdle(signal)
  }

  drain(signal: AbortSignal): Promise<void> {
    this.#isSpent = true
    return this.#forwarder.drain(signal)
  }

  close(): Promise<void> {
    return this.#forwarder.close()
  }
}
