import { NodeProxyError } from '../../../lib/error.ts'
import { joinRanges, transactionError } from '../netlink-nftables.ts'
import type { Nftables, TableContent, TransactionError } from '../nftables.ts'
import type { Command, Element, Table } from '../objects.ts'
import { isExpired } from './element-store.ts'
import type { FakeNamespace } from './fake-namespace.ts'
import type { FakeSet } from './fake-set.ts'
import type { HeldRule } from './fake-table.ts'
import type { InjectedFailure } from './injected-failure.ts'
import { RangeBounds } from './range-bounds.ts'

interface InjectedRefusal {
  readonly errno: number
  readonly applies: (command: Command) => boolean
  readonly isNamed: boolean
}

/** One socket to nf_tables in memory: it refuses what the kernel refuses, and what a test requests. */
export class FakeNftables implements Nftables {
  /** The port, unique among the sockets of its namespace. */
  readonly port: number
  /** All transactions, also those that were refused. */
  readonly transactions: (readonly Command[])[] = []
  /** The sets whose elements were read, and `lookup` with those whose elements were looked up. */
  readonly reads: string[] = []
  /** Thrown by every call while set: no answer arrives. */
  silence: NodeProxyError | undefined
  readonly #namespace: FakeNamespace
  readonly #failures: InjectedFailure[] = []
  readonly #refusals = new Set<InjectedRefusal>()
  readonly #meanwhile: (() => void)[] = []
  #commits = 0
  #isOpen = true

  constructor(namespace: FakeNamespace) {
    this.#namespace = namespace
    this.port = namespace.openPort()
  }

  get commits(): number {
    return this.#commits
  }

  async commit(
    commands: readonly Command[],
    generation?: number,
  ): Promise<TransactionError | undefined> {
    this.#answer()
    if (commands.length === 0) return undefined
    this.#meanwhile.shift()?.()
    this.transactions.push(commands)
    const failure = this.#failures.shift()
    if (failure?.kind === 'refused') {
      return transactionError({ errno: failure.errno, text: undefined }, failure.command)
    }
    if (failure?.kind === 'lost' && !failure.applied) throw lost()
    const error = this.#refusalOf(commands) ?? this.#namespace.run(commands, this.port, generation)
    if (failure) throw lost()
    if (error === undefined) this.#commits++
    return error
  }

  async generation(): Promise<number> {
    this.#answer()
    return this.#namespace.generation
  }

  async read(table: Table): Promise<TableContent | undefined> {
    this.#answer()
    const held = this.#namespace.table(table)
    if (held === undefined) return undefined
    const chains = [...held.chains].map(
      ([name, { spec, rules }]) => [name, { spec, rules: rules.map(({ rule }) => rule) }] as const,
    )
    const sets = [...held.sets].map(([name, { spec }]) => [name, spec] as const)
    return { chains: new Map(chains), sets: new Map(sets) }
  }

  async elements(table: Table, name: string, visit: (element: Element) => void): Promise<void> {
    this.#answer()
    this.reads.push(name)
    const set = this.#namespace.table(table)?.sets.get(name)
    if (set === undefined) return
    for (const element of elementsOf(set, this.#namespace.now)) visit(element)
  }

  async lookup(table: Table, name: string, keys: readonly Buffer[]): Promise<readonly Element[]> {
    this.#answer()
    this.reads.push(`lookup ${name}`)
    const set = this.#namespace.table(table)?.sets.get(name)
    const { now } = this.#namespace
    const found: Element[] = []
    for (const key of keys) {
      const held = set?.store.match(key, now)
      if (set === undefined || held === undefined) break
      found.push(set.read(held, now))
    }
    return found
  }

  async counters(table: Table): Promise<ReadonlyMap<string, bigint>> {
    this.#answer()
    const isCounter = ({ rule }: HeldRule) =>
      rule.expressions.some(({ type }) => type === 'counter')
    const chains = [...(this.#namespace.table(table)?.chains ?? [])]
    const counting = chains.filter(([, { rules }]) => rules.some(isCounter))
    return new Map(counting.map(([name, { packets = 0n }]) => [name, packets]))
  }

  /** Closes the socket; the tables that it owns are removed, or lose their owner. */
  close(): void {
    if (this.#isOpen) this.#namespace.closePort(this.port)
    this.#isOpen = false
  }

  /** The next `times` transactions fail as given. */
  failNext(failure: InjectedFailure, times = 1): void {
    for (let count = 0; count < times; count++) this.#failures.push(failure)
  }

  /**
   * From now on transactions with such a command are refused; returns a function that ends this. `isNamed` false: the
   * kernel does not report which command it is.
   */
  refuse(errno: number, applies: (command: Command) => boolean, isNamed = true): () => void {
    const refusal: InjectedRefusal = { errno, applies, isNamed }
    this.#refusals.add(refusal)
    return () => this.#refusals.delete(refusal)
  }

  /** Calls `work` right before the next transaction, as a change by another program. */
  meanwhile(work: () => void): void {
    this.#meanwhile.push(work)
  }

  #refusalOf(commands: readonly Command[]): TransactionError | undefined {
    for (const [index, command] of commands.entries()) {
      const refusal = [...this.#refusals].find(({ applies }) => applies(command))
      if (refusal === undefined) continue
      const { errno, isNamed } = refusal
      return transactionError({ errno, text: undefined }, isNamed ? index : undefined)
    }
    return undefined
  }

  #answer(): void {
    if (!this.#isOpen) throw new TypeError('this socket is closed')
    if (this.silence) throw this.silence
  }
}

function lost(): NodeProxyError {
  return new NodeProxyError('NP_KERNEL_NETLINK', 'the answer to a transaction was lost')
}

/** The elements that have not expired; the two bounds of a range of single numbers are one element. */
function elementsOf(set: FakeSet, now: number): readonly Element[] {
  const live = [...set.store.all()].filter((held) => !isExpired(held, now))
  const read = live.map((held) => ({ element: set.read(held, now), endsRange: held.endsRange }))
  return set.store instanceof RangeBounds ? joinRanges(read) : read.map(({ element }) => element)
}
