import type { HoldOptions, OwnWork, RuleChange, RuleMonitor } from '../nftables/rule-monitor.ts'

/** A monitor whose changes the test makes; they wait during holds as in the real one. */
export class FakeMonitor implements RuleMonitor {
  /** The arguments of the end of each hold. */
  readonly holds: { readonly unsubscribed: boolean; readonly own: OwnWork }[] = []
  #onChange: ((change: RuleChange) => void) | undefined
  #held = 0
  #queue: RuleChange[] = []
  #own = new Set<number>()

  start(onChange: (change: RuleChange) => void): () => void {
    this.#onChange = onChange
    return () => {
      this.#onChange = undefined
    }
  }

  get started(): boolean {
    return this.#onChange !== undefined
  }

  hold(options: HoldOptions = {}): (own: OwnWork) => void {
    this.#held++
    return (own) => {
      this.holds.push({ unsubscribed: options.unsubscribed === true, own })
      for (const pid of own.authors) this.#own.add(pid)
      if (--this.#held > 0) return
      const changes = this.#queue.filter(({ by }) => by === undefined || !this.#own.has(by.pid))
      this.#queue = []
      this.#own = new Set()
      for (const change of changes) this.#onChange?.(change)
    }
  }

  change(change: Partial<RuleChange>): void {
    const whole = { touched: 'unknown', by: undefined, generation: undefined, ...change } as const
    if (this.#held > 0) this.#queue.push(whole)
    else this.#onChange?.(whole)
  }
}
