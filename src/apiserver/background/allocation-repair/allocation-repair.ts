import { regularly } from '../../../lib/regularly.ts'
import { allocationFor, describeKey } from '../../allocation/allocation-keys.ts'
import type { ServerMetrics } from '../../metrics/server-metrics.ts'
import { deleteUnchanged } from '../../persist/delete-unchanged.ts'
import { isApiServiceKey } from '../api-services/api-services.ts'
import type { BackgroundContext } from '../background-context.ts'
import { type Allocation, auditAllocations, type Claim } from './audit.ts'
import { readHoldings } from './read-holdings.ts'
import { type LastingFault, recordFault } from './record-fault.ts'
import { reportOutside } from './report-outside.ts'

export interface RepairOptions {
  readonly context: BackgroundContext
  readonly metrics: Pick<ServerMetrics, 'addressRepairs' | 'portRepairs' | 'outsideRange'>
  /** Receives the error of a failed round; the next one follows. */
  readonly onError: (error: unknown) => void
}

/** From the end of one round to the beginning of the next. */
const PERIOD_MS = 180_000

/** Rounds in a row in which an allocation must be leaked before it is freed, as in kube-apiserver. */
const ROUNDS_UNTIL_FREED = 3

/** Values of the metric label `type`, as in kube-apiserver. */
type CountedAs = 'leak' | 'repair' | LastingFault

/**
 * Compares allocations with Services at the start and every three minutes, and repairs the
 * allocations. Transactions keep the two consistent, but stores are restored, edited and
 * damaged. Every repair compares the revisions that it was decided on, so several servers may
 * repair at once.
 */
export class AllocationRepair {
  readonly #options: RepairOptions
  /** Rounds in a row in which each allocation was leaked. */
  #leaks: ReadonlyMap<string, number> = new Map()
  /** The faults of the last round: each is reported when it is new. */
  #reported: ReadonlySet<string> = new Set()
  #stop = (): void => undefined

  constructor(options: RepairOptions) {
    this.#options = options
  }

  /** Ends after the first round; the others follow by themselves. */
  async start(): Promise<void> {
    const { context, onError } = this.#options
    const round = (): Promise<void> => this.#round()
    await round().catch(onError)
    this.#stop = regularly({ clock: context.clock, everyMs: PERIOD_MS, round, onError })
  }

  /** Begins no further round. */
  stop(): void {
    this.#stop()
  }

  async #round(): Promise<void> {
    const { store, allocator, conditions } = this.#options.context
    const holdings = await readHoldings(store)
    if (holdings === undefined) return
    const isInRange = (key: string): boolean => allocator.gives(key)
    const found = auditAllocations(holdings, isInRange)
    const { leaked, missing, duplicates } = found
    const outside = found.outside.filter(({ holder }) => !isApiServiceKey(holder.key))
    reportOutside(conditions, outside, allocator.described)
    this.#measure(outside)
    for (const claim of missing) await this.#allocate(claim)
    await this.#free(leaked)
    await this.#report({ duplicate: duplicates, outOfRange: outside })
  }

  async #allocate({ key, revision, holder }: Claim): Promise<void> {
    const compare = [
      { key, modRevision: revision },
      { key: holder.key, modRevision: holder.revision },
    ]
    const value = allocationFor(holder.key)
    const operations = [{ op: 'put', key, value } as const]
    const { committed } = await this.#options.context.store.txn({ compare, operations })
    if (committed) this.#count(key, 'repair')
  }

  async #free(leaked: readonly Allocation[]): Promise<void> {
    const before = this.#leaks
    const seen = leaked.map((one) => {
      const id = `${one.key} ${one.revision}`
      return { ...one, id, rounds: (before.get(id) ?? 0) + 1 }
    })
    this.#leaks = new Map(seen.map(({ id, rounds }) => [id, rounds]))
    for (const { key, revision, rounds } of seen) {
      if (rounds < ROUNDS_UNTIL_FREED) continue
      const isFreed = await deleteUnchanged(this.#options.context.store, key, revision)
      if (isFreed) this.#count(key, 'leak')
    }
  }

  /** Only an operator can decide which Service to recreate: each fault is reported once while it lasts. */
  async #report(claims: Readonly<Record<LastingFault, readonly Claim[]>>): Promise<void> {
    const before = this.#reported
    const faults = Object.keys(claims) as LastingFault[]
    const found = faults.flatMap((fault) =>
      claims[fault].map((claim) => ({ fault, claim, id: `${fault} ${idOf(claim)}` })),
    )
    this.#reported = new Set(found.map(({ id }) => id))
    for (const { fault, claim } of found.filter(({ id }) => !before.has(id))) {
      this.#count(claim.key, fault)
      await recordFault(this.#options.context, claim, fault)
    }
  }

  #measure(outside: readonly Claim[]): void {
    const { outsideRange } = this.#options.metrics
    for (const kind of ['address', 'port'] as const) {
      const held = outside.filter(({ key }) => describeKey(key).kind === kind)
      outsideRange.set({ kind }, new Set(held.map(({ holder }) => holder.key)).size)
    }
  }

  #count(key: string, type: CountedAs): void {
    const { addressRepairs, portRepairs } = this.#options.metrics
    const counter = describeKey(key).kind === 'address' ? addressRepairs : portRepairs
    counter.inc({ type })
  }
}

function idOf({ key, holder }: Claim): string {
  return `${key} ${holder.key}`
}
