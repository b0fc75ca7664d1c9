import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import type { OwnWork, RuleChange, RuleMonitor } from '../nftables/rule-monitor.ts'
import type { TableInfo } from './table-reader.ts'
import type { Xtables } from './xtables.ts'

/** Milliseconds between two readings of the number and size of the rules. */
const TICK_MS = 250
/** Digests of all rules are read so rarely that this takes at most one 250th of the time. */
const IDLE_SHARE = 250
/** The same limit while iptables programs take the lock: one 20th of the time. */
const BUSY_SHARE = 20
/** The minimum time between two readings of the digests while iptables programs take the lock. */
const BUSY_MS = 1000

/** See `XtablesMonitor`. */
export interface XtablesMonitorOptions {
  readonly clock: Clock
  readonly tables: readonly { readonly family: Family; readonly table: string }[]
}

interface Watched {
  readonly family: Family
  readonly table: string
  info: TableInfo | undefined
  /** The digest of all rules; undefined if not read since the last hold or change, or if there is no such table. */
  digest: string | undefined
}

/**
 * Reports changes of the rules of the legacy iptables variant, which sends no notifications. Four times a second the
 * monitor reads the number and size of the rules of each table. This takes microseconds, and shows every addition and
 * removal. Only a digest of all rules shows that a rule was replaced by one of the same size. It is read after an
 * iptables program took the lock, and otherwise from time to time.
 */
export class XtablesMonitor implements RuleMonitor {
  readonly #xtables: Xtables
  readonly #clock: Clock
  readonly #watched: readonly Watched[]
  #onChange: ((change: RuleChange) => void) | undefined
  #holds = 0
  /** Counts holds and starts, so that digests are discarded if one began while they were read. */
  #epoch = 0
  /** Whether an iptables program took the lock since the digests were last read, or since the last `#baseline`. */
  #lockWasTaken = false
  /** When the digests were last read, and how many milliseconds that took. */
  #readAt = 0
  #cost = 0

  constructor(xtables: Xtables, options: XtablesMonitorOptions) {
    this.#xtables = xtables
    this.#clock = options.clock
    this.#watched = options.tables.map((table) => ({
      ...table,
      info: undefined,
      digest: undefined,
    }))
  }

  start(onChange: (change: RuleChange) => void): () => void {
    if (this.#onChange !== undefined) throw new TypeError('the monitor is already started')
    this.#onChange = onChange
    this.#epoch++
    this.#baseline()
    return this.#tickUntilStopped(() => {
      this.#onChange = undefined
    })
  }

  hold(): (own: OwnWork) => void {
    this.#holds++
    this.#epoch++
    let released = false
    return (own) => {
      if (released) return
      released = true
      if (--this.#holds > 0) return
      if (own.commits === 0) return
      this.#baseline()
    }
  }

  /** Takes the present rules as known, so that they are not reported as a change by another process. */
  #baseline(): void {
    this.#xtables.lockTaken()
    this.#lockWasTaken = false
    for (const watched of this.#watched) {
      watched.info = this.#xtables.info(watched.family, watched.table)
      watched.digest = undefined
    }
  }

  /** A tick that outlasts its run begins no other: a later run has its own. Returns a function that ends the run. */
  #tickUntilStopped(onStop: () => void): () => void {
    let isStopped = false
    let cancel = () => {}
    const schedule = () => {
      cancel = this.#clock.after(TICK_MS, () => {
        void this.#tick().finally(() => {
          if (!isStopped) schedule()
        })
      })
    }
    schedule()
    return () => {
      if (isStopped) return
      isStopped = true
      cancel()
      onStop()
    }
  }

  async #tick(): Promise<void> {
    if (this.#holds > 0) return
    const changed = this.#watched.filter((watched) => this.#hasOtherInfo(watched))
    this.#lockWasTaken = this.#xtables.lockTaken() || this.#lockWasTaken
    if (changed.length > 0) return this.#report(changed)
    const since = this.#clock.now() - this.#readAt
    const pause = this.#lockWasTaken
      ? Math.max(BUSY_MS, this.#cost * BUSY_SHARE)
      : this.#cost * IDLE_SHARE
    if (since >= pause) this.#report(await this.#read())
  }

  #hasOtherInfo(watched: Watched): boolean {
    const info = this.#xtables.info(watched.family, watched.table)
    const same = info?.entries === watched.info?.entries && info?.size === watched.info?.size
    if (same) return false
    watched.info = info
    watched.digest = undefined
    return true
  }

  /**
   * Reads the digests, and returns the tables whose digest has changed. A table without an earlier digest counts as
   * changed if an iptables program took the lock. If a hold begins meanwhile, everything is read again after it.
   */
  async #read(): Promise<readonly Watched[]> {
    const epoch = this.#epoch
    const begin = this.#clock.now()
    const digests: (string | undefined)[] = []
    for (const { family, table } of this.#watched) {
      digests.push(await this.#xtables.digest(family, table))
      if (epoch !== this.#epoch) return []
    }
    const changed = this.#watched.filter(({ digest }, index) =>
      digest === undefined ? this.#lockWasTaken : digest !== digests[index],
    )
    for (const [index, watched] of this.#watched.entries()) watched.digest = digests[index]
    this.#lockWasTaken = false
    this.#readAt = this.#clock.now()
    this.#cost = this.#readAt - begin
    return changed
  }

  #report(changed: readonly Watched[]): void {
    if (changed.length === 0) return
    const touched = changed.map(({ family, table }) => ({ family, table, chain: undefined }))
    this.#onChange?.({ touched, by: undefined, generation: undefined })
  }
}
