import type { Clock } from '../../../lib/clock.ts'
import { transactionError } from '../netlink-nftables.ts'
import type { TransactionError } from '../nftables.ts'
import type { TouchedObject } from '../object-collector.ts'
import type { Element, Table } from '../objects.ts'
import { dumpTable } from './dump.ts'
import { addElements, deleteElements, useTarget } from './element-commands.ts'
import type { FakeTable } from './fake-table.ts'
import type { ForeignCommand } from './foreign-command.ts'
import { Journal } from './journal.ts'
import { touchedBy } from './touched-by.ts'
import { keyOfTable, needsValidation, type Tables, Transaction } from './transaction.ts'
import { validateTable } from './validate-table.ts'

/** linux/errno.h; Node has no name for it. */
const ERESTART = 85

/** A transaction that took effect. */
export interface CommittedChange {
  /** The port of the socket that sent it. */
  readonly port: number
  readonly generation: number
  readonly touched: readonly TouchedObject[]
}

/** The port of the socket of other programs. */
const FOREIGN_PORT = 0xffff_0000

/** The nf_tables of one network namespace, in memory, for any number of `FakeNftables`. */
export class FakeNamespace {
  readonly #clock: Pick<Clock, 'now'>
  readonly #tables: Tables = new Map()
  readonly #listeners = new Set<(change: CommittedChange) => void>()
  #generation = 1
  #lastPort = 0

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** The number of the last change of any table. */
  get generation(): number {
    return this.#generation
  }

  get now(): number {
    return this.#clock.now()
  }

  /** A port that no other socket has. */
  openPort(): number {
    return ++this.#lastPort
  }

  /** Closes a socket; the tables that it owns are removed, or lose their owner. */
  closePort(port: number): void {
    for (const [key, held] of [...this.#tables]) {
      if (held.owner !== port) continue
      held.owner = undefined
      if (!held.isPersistent) this.#tables.delete(key)
    }
  }

  table(table: Table): FakeTable | undefined {
    this.#collect()
    return this.#tables.get(keyOfTable(table))
  }

  /** A transaction of another program; returns the error if the kernel refuses it. */
  alter(...commands: readonly ForeignCommand[]): TransactionError | undefined {
    return this.run(commands, FOREIGN_PORT)
  }

  /** Applies all commands in their order, or none. */
  run(
    commands: readonly ForeignCommand[],
    port: number,
    generation?: number,
  ): TransactionError | undefined {
    if (generation !== undefined && generation !== this.#generation) {
      return transactionError({ errno: ERESTART, text: undefined }, undefined)
    }
    this.#collect()
    const transaction = new Transaction(this.#tables, { port, now: this.now })
    const touched: TouchedObject[] = []
    const isHeard = this.#listeners.size > 0
    for (const [index, command] of commands.entries()) {
      if (isHeard) touched.push(...touchedBy(command, this.#tables))
      const errno = transaction.execute(command)
      if (errno === 0) continue
      transaction.journal.rollBack()
      return transactionError({ errno, text: undefined }, index)
    }
    const refused = this.#validate(commands, transaction, port)
    if (refused) return refused
    if (transaction.journal.changes === 0) return undefined
    this.#generation++
    for (const listener of this.#listeners) {
      listener({ port, generation: this.#generation, touched })
    }
    return undefined
  }

  /**
   * The effect of a packet on a rule with `update`: adds an element, or renews it and keeps its data; no socket is
   * notified.
   */
  update(table: Table, name: string, element: Element): void {
    const held = this.table(table)
    const set = held?.sets.get(name)
    if (held === undefined || set === undefined) return
    const there = set.store.match(element.key, this.now)
    const work = { table: held, set, journal: new Journal(), now: this.now }
    if (there) deleteElements([there.element], work)
    addElements([{ ...element, ...there?.element }], work)
  }

  /** Packets meet the counters of a chain. */
  count(table: Table, name: string, packets: bigint): void {
    const chain = this.table(table)?.chains.get(name)
    if (chain) chain.packets = (chain.packets ?? 0n) + packets
  }

  /** Calls back for every transaction that took effect; returns a function that ends this. */
  listen(listener: (change: CommittedChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Every object and every element, as sorted texts; `hasElements`: the sets whose elements are included. */
  dump(hasElements: (set: string) => boolean = () => true): readonly string[] {
    this.#collect()
    return [...this.#tables.values()].flatMap((held) => dumpTable(held, hasElements)).toSorted()
  }

  /** If a path is invalid, the kernel begins again and checks after each command, to find the one that caused it. */
  #validate(
    commands: readonly ForeignCommand[],
    done: Transaction,
    port: number,
  ): TransactionError | undefined {
    const changed = new Map(
      commands.filter(needsValidation).map(({ table }) => [keyOfTable(table), table]),
    )
    const errnoOf = (key: string) => {
      const held = this.#tables.get(key)
      return held ? validateTable(held) : 0
    }
    if ([...changed.keys()].every((key) => errnoOf(key) === 0)) return undefined
    done.journal.rollBack()
    const again = new Transaction(this.#tables, { port, now: this.now })
    for (const [index, command] of commands.entries()) {
      const refused = again.execute(command)
      const errno = refused || (needsValidation(command) ? errnoOf(keyOfTable(command.table)) : 0)
      if (errno === 0) continue
      again.journal.rollBack()
      return transactionError({ errno, text: undefined }, index)
    }
    return undefined
  }

  #collect(): void {
    for (const table of this.#tables.values()) {
      for (const set of table.sets.values()) {
        for (const held of set.collect(this.now)) useTarget(held, { table, set }, -1)
      }
    }
  }
}
