import type { Mode } from '../../mode.ts'
import type { NetfilterConfiguration } from '../../netfilter/settings/configuration.ts'
import type { Forwarder } from '../forwarder.ts'
import type { UserspaceSettings } from '../settings.ts'
import type { UserspaceConfiguration } from './configuration.ts'

/** The time that a closing runtime has. */
export interface Ending {
  /** When it is aborted, no new connection is accepted any more. */
  readonly stopAccepting: AbortSignal
  /** When it is aborted, the remaining connections are closed. It comes later, so that the last ones can end. */
  readonly closeAll: AbortSignal
}

/** The code of the userspace mode, its workers, and what is opened for it alone. */
export interface UserspaceRuntime {
  readonly entry: 'redirect' | 'bind'
  readonly forwarder: DrainingForwarder
  /** Whether a monitor reports changes of its rules by other processes; also true if it has no rules. */
  readonly hasRuleMonitor: boolean
  /** Whether its workers accept new connections and use the mark that this configuration requires. */
  suits(config: NetfilterConfiguration & UserspaceConfiguration): boolean
  build(settings: UserspaceSettings): Mode
  /** Serves while there are clients, then closes everything; at the times of `ending` also if there still are some. */
  close(ending: Ending): Promise<void>
}

/**
 * A forwarder that remembers whether it drains, that is, has stopped listening. Clients of its predecessor (`former`)
 * need the same rules as its own, so `drain` waits for the clients of both, and `ownPorts` are those of both.
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

  /**
   * Serves while there are clients, at most until the times of `ending`, then closes this forwarder. Its predecessor is
   * not touched: it serves on if this one never came into use.
   */
  async end({ stopAccepting, closeAll }: Ending): Promise<void> {
    // While this process waits for its connections to end, no other process serves new clients.
    if (!this.#isDraining) await this.#forwarder.untilIdle(stopAccepting)
    this.#isDraining = true
    if (!this.#closed) await this.#forwarder.drain(closeAll)
    await this.close()
  }

  close(): Promise<void> {
    this.#closed ??= this.#forwarder.close()
    return this.#closed
  }
}
