import type { TouchedObject } from '../object-collector.ts'
import type { HoldOptions, OwnWork, RuleChange, RuleMonitor } from '../rule-monitor.ts'
import type { FakeNamespace } from './fake-namespace.ts'

/** Which changes of a namespace are reported. */
export interface FakeObjectMonitorOptions {
  /** The name of the table, in both families. */
  readonly table: string
  /** The port of the socket whose own transactions are not reported. */
  readonly exceptPort: number
}

const BY = { pid: 7, process: 'nft' } as const

/** Reports what other sockets change in a table, as the real monitor does: also what it missed during holds. */
export class FakeObjectMonitor implements RuleMonitor<TouchedObject> {
  readonly #namespace: FakeNamespace
  readonly #options: FakeObjectMonitorOptions
  #held = 0
  #unsubscribed = 0
  #hasMissed = false
  #base = 0
  #commits = 0
  #queue: RuleChange<TouchedObject>[] = []
  #onChange: ((change: RuleChange<TouchedObject>) => void) | undefined

  constructor(namespace: FakeNamespace, options: FakeObjectMonitorOptions) {
    this.#namespace = namespace
    this.#options = options
  }

  start(onChange: (change: RuleChange<TouchedObject>) => void): () => void {
    this.#onChange = onChange
    const { table, exceptPort } = this.#options
    const stop = this.#namespace.listen(({ port, generation, touched }) => {
      const ours = touched.filter((one) => one.table.name === table)
      if (port === exceptPort || ours.length === 0 || this.#unsubscribed > 0) return
      this.#report({ touched: ours, by: BY, generation })
    })
    return () => {
      stop()
      this.#onChange = undefined
    }
  }

  hold(options: HoldOptions = {}): (own: OwnWork) => void {
    if (this.#held++ === 0) {
      this.#base = this.#namespace.generation
      this.#commits = 0
      this.#hasMissed = false
    }
    const isUnsubscribed = options.unsubscribed === true
    if (isUnsubscribed) {
      this.#unsubscribed++
      this.#hasMissed = true
    }
    return (own) => {
      if (isUnsubscribed) this.#unsubscribed--
      this.#commits += own.commits ?? Number.NaN
      if (--this.#held === 0) this.#settle()
    }
  }

  /** Changes that were missed show in the generation. */
  #settle(): void {
    const { generation } = this.#namespace
    const isExplained = generation - this.#base <= this.#commits
    if (this.#hasMissed && !isExplained) {
      this.#onChange?.({ touched: 'unknown', by: undefined, generation })
    }
    const queue = this.#queue
    this.#queue = []
    for (const change of queue) this.#onChange?.(change)
  }

  #report(change: RuleChange<TouchedObject>): void {
    if (this.#held > 0) this.#queue.push(change)
    else this.#onChange?.(change)
  }
}
