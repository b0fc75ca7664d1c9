import { constants } from 'node:os'
import type { Nftables, TransactionError } from '../../kernel/nftables/nftables.ts'
import type { TouchedObject } from '../../kernel/nftables/object-collector.ts'
import type { Command, TableSpec } from '../../kernel/nftables/objects.ts'
import type { RuleMonitor } from '../../kernel/nftables/rule-monitor.ts'
import { exceeds, logTo, rule } from '../../kernel/nftables/rules/statements.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { Family } from '../../lib/ip.ts'
import type { PolicyChanges, PolicyContent } from '../policy-content.ts'
import { LOG_GROUP, LOG_LIMIT } from './chain-rules.ts'
import {
  changedDifference,
  type Difference,
  type Known,
  knownOf,
  namesOf,
  readDifference,
} from './difference.ts'
import { isBaseObject, type RenderSettings, TABLE, tableOf, WantedTable } from './render.ts'
import { replacementOf, transactionsOf, weightOf } from './transactions.ts'

const { EINVAL, ENOMEM, EMSGSIZE, EOPNOTSUPP, EPERM } = constants.errno

/** The errors of a kernel without persistent tables, and of an ordinary table of an earlier run. */
const NOT_PERSISTENT: ReadonlySet<number> = new Set([EINVAL, EOPNOTSUPP])

/** Errors that have another cause than the object whose command was refused. */
const CONCERN_ALL: ReadonlySet<number> = new Set([EPERM, ENOMEM, EMSGSIZE])

/** Refused transactions of one write, the last of which ends it. Each object that is left out costs two. */
const MAX_REFUSALS = 65

/** For transactions of more commands and elements than this, the kernel's notifications are not read. */
const MAX_NOTIFIED = 4_000

const PROBE_TABLE = `${TABLE}-probe`
const PERSISTENT = { isOwned: true, isPersistent: true } as const

/** An object that the kernel refused. */
export interface RefusedObject {
  readonly code: 'NP_POLICY_REFUSED'
  /** `set …` or `chain …` of which table, and the kernel's words. */
  readonly message: string
}

/** What a write did. */
export interface Written {
  /** The names of the sets and chains that differed. */
  readonly names: readonly string[]
  readonly transactions: number
  /** By the name of the set or chain. Everything else is in force; see `WantedOptions.excluded` for what is without it. */
  readonly refused: ReadonlyMap<string, RefusedObject>
}

/** The sockets to nf_tables. */
export interface PolicyKernel {
  readonly nftables: Nftables
  readonly monitor: RuleMonitor<TouchedObject>
}

/** From what a table is written. */
export interface Source {
  readonly content: PolicyContent
  readonly settings: RenderSettings
}

/** Writes the table of one family. One call at a time. */
export class FamilyWriter {
  readonly #family: Family
  readonly #kernel: PolicyKernel
  /** Undefined where not everything wanted was written. */
  #known: Known | undefined
  #spec: TableSpec = PERSISTENT

  constructor(family: Family, kernel: PolicyKernel) {
    this.#family = family
    this.#kernel = kernel
  }

  /**
   * Writes what changed since the last write, in one transaction if it is small. If the kernel refuses it, everything is
   * read, and the difference written. Throws as `writeAll`, which has to be called next where a write threw, or something
   * else may have changed the table.
   */
  async writeChanges(source: Source, changes: PolicyChanges): Promise<Written> {
    const known = this.#known
    if (known === undefined) return this.writeAll(source)
    const wanted = this.#wanted(source, new Set())
    const model = { content: source.content, changes, known }
    const difference = await changedDifference(this.#kernel.nftables, wanted, model)
    const transactions = transactionsOf(difference, wanted)
    if (await this.#commitAll(transactions)) return this.writeAll(source)
    noteWritten(known, { wanted, changes, difference })
    return { names: namesOf(difference), transactions: transactions.length, refused: new Map() }
  }

  /**
   * Reads the table, and writes what differs; an object that the kernel refuses twice is left out. Throws
   * NP_POLICY_REFUSED if the table as a whole cannot be written, NP_KERNEL_NETLINK if it cannot be read.
   */
  async writeAll(source: Source): Promise<Written> {
    const refused = new Map<string, RefusedObject>()
    const kept = new Map<string, RefusedObject>()
    let names: readonly string[] | undefined
    // The object of the refusal before; empty: it is not known.
    let suspect: string | undefined
    for (let [transactions, failures] = [0, 1]; ; failures++) {
      const isOrdinary = await this.#claim()
      const wanted = this.#wanted(source, new Set(refused.keys()))
      const difference = await readDifference(this.#kernel.nftables, wanted, new Set(kept.keys()))
      const isReplaced = isOrdinary || difference.hasOtherForm
      names ??= isReplaced ? [TABLE] : namesOf(difference)
      const planned = isReplaced
        ? [replacementOf(wanted, this.#spec)]
        : transactionsOf(difference, wanted)
      const failure = await this.#commitAll(planned)
      transactions += planned.length
      if (failure === undefined) {
        this.#known = refused.size + kept.size === 0 ? knownOf(wanted) : undefined
        return { names, transactions, refused: new Map([...refused, ...kept]) }
      }
      const fault = faultOf(failure)
      // The first refusal may be due to what another program changed after it was read.
      if ((suspect !== undefined && fault === undefined) || failures === MAX_REFUSALS) {
        throw refusedAs(this.#family, failure)
      }
      if (suspect === fault && fault !== undefined) {
        const isWanted = wanted.set(fault) ?? wanted.chain(fault)
        const left = isWanted ? refused : kept
        left.set(fault, refusalOf(this.#family, failure))
        suspect = undefined
      } else suspect = fault ?? ''
    }
  }

  #wanted({ content, settings }: Source, excluded: ReadonlySet<string>): WantedTable {
    return new WantedTable({ family: this.#family, content, settings, excluded })
  }

  /**
   * Makes the table, or takes over the one of an earlier run. Returns whether it has to be replaced, because it is an
   * ordinary one and this kernel has better ones.
   */
  async #claim(): Promise<boolean> {
    const { nftables } = this.#kernel
    const table = tableOf(this.#family)
    const add = async (spec: TableSpec) => {
      const commands: readonly Command[] = [{ do: 'addTable', table, spec }]
      const error = await nftables.commit(commands)
      if (error === undefined) this.#spec = spec
      return error && { commands, error }
    }
    const failure = await add(PERSISTENT)
    if (failure === undefined) return false
    if (!NOT_PERSISTENT.has(failure.error.errno)) throw refusedAs(this.#family, failure)
    if (await this.#canPersist()) {
      this.#spec = PERSISTENT
      return true
    }
    const again = await add({})
    if (again) throw refusedAs(this.#family, again)
    return false
  }

  /** Whether the kernel accepts a persistent table: a transaction that leaves nothing. */
  async #canPersist(): Promise<boolean> {
    const table = { family: this.#family, name: PROBE_TABLE }
    const error = await this.#kernel.nftables.commit([
      { do: 'addTable', table, spec: PERSISTENT },
      { do: 'deleteTable', table },
    ])
    return error === undefined
  }

  /** The first refused transaction; those after it are not tried. */
  async #commitAll(
    transactions: readonly (readonly Command[])[],
  ): Promise<RefusedTransaction | undefined> {
    const { nftables, monitor } = this.#kernel
    const isLarge = transactions.reduce((sum, one) => sum + weightOf(one), 0) > MAX_NOTIFIED
    const release = isLarge ? monitor.hold({ unsubscribed: true }) : undefined
    const before = nftables.commits
    try {
      for (const commands of transactions) {
        const error = await nftables.commit(commands)
        if (error) return { commands, error }
      }
      return undefined
    } finally {
      release?.({ authors: [], commits: nftables.commits - before })
    }
  }
}

interface RefusedTransaction {
  readonly commands: readonly Command[]
  readonly error: TransactionError
}

/** The set or chain that a transaction was refused for; undefined if that is not known, or nothing works without it. */
function faultOf(failure: RefusedTransaction): string | undefined {
  const { name } = objectOf(failure) ?? {}
  if (name === undefined || isBaseObject(name)) return undefined
  return CONCERN_ALL.has(failure.error.errno) ? undefined : name
}

/** The set or chain of the command that was refused. */
function objectOf({ commands, error }: RefusedTransaction) {
  const command = error.command === undefined ? undefined : commands[error.command]
  if (command === undefined) return undefined
  if ('set' in command) return { kind: 'set', name: command.set }
  return 'chain' in command ? { kind: 'chain', name: command.chain } : undefined
}

function refusalOf(family: Family, failure: RefusedTransaction): RefusedObject {
  const object = objectOf(failure)
  const where = object === undefined ? '' : `${object.kind} ${object.name} of `
  const table = `table ${family === 4 ? 'ip' : 'ip6'} ${TABLE}`
  return { code: 'NP_POLICY_REFUSED', message: `${where}${table}: ${failure.error.message}` }
}

function refusedAs(family: Family, failure: RefusedTransaction): NodeProxyError {
  const { code, message } = refusalOf(family, failure)
  return new NodeProxyError(code, message)
}

/** Adds a difference that was written to what is known. */
function noteWritten(
  known: Known,
  written: {
    readonly wanted: WantedTable
    readonly changes: PolicyChanges
    readonly difference: Difference
  },
): void {
  const { wanted, changes, difference } = written
  for (const name of difference.newSets.keys()) known.sets.add(name)
  for (const name of difference.goneSets) known.sets.delete(name)
  for (const name of difference.newChains.keys()) known.chains.add(name)
  for (const name of difference.goneChains) known.chains.delete(name)
  for (const ip of new Set([...changes.pods.egress, ...changes.pods.ingress])) {
    const placed = wanted.podElements(ip)
    // Addresses of Pods that are gone would only take memory.
    if (placed.length > 0) known.pods.set(ip, placed)
    else known.pods.delete(ip)
  }
}

/** Why the kernel takes no rules that log; undefined if it does: a transaction that leaves nothing. */
export async function whyNotLogged(nftables: Nftables): Promise<string | undefined> {
  const table = { family: 4, name: PROBE_TABLE } as const
  const logs = rule(exceeds(1), logTo(LOG_GROUP, TABLE))
  const error = await nftables.commit([
    { do: 'addTable', table },
    { do: 'addChain', table, chain: LOG_LIMIT, spec: {} },
    { do: 'addRule', table, chain: LOG_LIMIT, rule: logs },
    { do: 'deleteTable', table },
  ])
  return error?.message
}

/** Removes the tables of both families, also those of an earlier run; throws NP_POLICY_REFUSED if one stays. */
export async function cleanUp(nftables: Nftables): Promise<void> {
  for (const family of [4, 6] as const) {
    const table = tableOf(family)
    if ((await nftables.read(table)) === undefined) continue
    const commands = [{ do: 'deleteTable', table }] as const
    const error = await nftables.commit(commands)
    if (error) throw refusedAs(family, { commands, error })
  }
}
