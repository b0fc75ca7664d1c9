import type { Command, Element, Table, TableSpec } from '../../kernel/nftables/objects.ts'
import { inGroups } from '../../lib/groups.ts'
import { type Difference, type ElementChanges, wholeOf } from './difference.ts'
import { tableOf, type WantedTable } from './render.ts'

/**
 * The commands, elements and rules in one transaction where it can be cut: during a transaction the kernel holds a lock
 * that every user of nf_tables waits for.
 */
const MAX_WEIGHT = 4_000

/**
 * The transactions that remove a difference, in their order. Small ones are a single transaction. Of a large one, first
 * comes what nothing leads to yet, in several transactions; then everything that packets notice, in one, so that none
 * meets a mixture of old and new rules, which might admit what neither does; then what nothing leads to any more.
 */
export function transactionsOf(
  difference: Difference,
  wanted: WantedTable,
): readonly (readonly Command[])[] {
  const table = tableOf(wanted.family)
  const prepare = prepareCommands(difference, table)
  const change = changeCommands(difference, table)
  const tidy = tidyCommands(difference, table)
  const all = [...prepare, ...change, ...tidy]
  if (all.length === 0) return []
  if (weightOf(all) <= MAX_WEIGHT) return [all]
  return [...cut(prepare), change, ...cut(tidy)].filter((commands) => commands.length > 0)
}

/** The one transaction that replaces the whole table, which exists, whatever it holds. */
export function replacementOf(wanted: WantedTable, spec: TableSpec): readonly Command[] {
  const [table, whole] = [tableOf(wanted.family), wholeOf(wanted)]
  return [
    { do: 'deleteTable', table },
    { do: 'addTable', table, spec },
    ...prepareCommands(whole, table),
    ...changeCommands(whole, table),
  ]
}

/** The number of commands, with each element as one. */
export function weightOf(commands: readonly Command[]): number {
  return commands.reduce((sum, one) => sum + ('elements' in one ? one.elements.length : 1), 0)
}

/** New sets with their elements and new chains, except what the kernel calls. Nothing leads to them yet. */
function prepareCommands({ newSets, newChains }: Difference, table: Table): readonly Command[] {
  const commands: Command[] = []
  for (const [set, { spec }] of newSets) commands.push({ do: 'addSet', table, set, spec })
  for (const [set, wanted] of newSets) {
    if (wanted.spec.data === undefined) commands.push(...add(table, set, [...wanted.elements()]))
  }
  const called = [...newChains].filter(([, { spec }]) => spec.hook === undefined)
  for (const [chain, { spec }] of called) commands.push({ do: 'addChain', table, chain, spec })
  for (const [chain, { rules }] of called) {
    for (const rule of rules) commands.push({ do: 'addRule', table, chain, rule })
  }
  return commands
}

/** What packets notice: members of sets that stay, rules of chains that stay, Pods that get or lose a chain. */
function changeCommands(difference: Difference, table: Table): readonly Command[] {
  const { newSets, newChains, changedChains, elements } = difference
  const commands: Command[] = []
  for (const [set, changes] of elements) commands.push(...elementCommands(table, set, changes))
  for (const [set, wanted] of newSets) {
    if (wanted.spec.data !== undefined) commands.push(...add(table, set, [...wanted.elements()]))
  }
  for (const [chain, { rules }] of changedChains) {
    commands.push({ do: 'flushChain', table, chain })
    for (const rule of rules) commands.push({ do: 'addRule', table, chain, rule })
  }
  for (const [chain, { spec, rules }] of newChains) {
    if (spec.hook === undefined) continue
    commands.push({ do: 'addChain', table, chain, spec })
    for (const rule of rules) commands.push({ do: 'addRule', table, chain, rule })
  }
  return commands
}

/** Removals come first: a new range may overlap an old one, and a Pod may get another chain. */
function elementCommands(
  table: Table,
  set: string,
  { remove, add: added }: ElementChanges,
): readonly Command[] {
  if (remove.length === 0) return add(table, set, added)
  return [{ do: 'deleteElements', table, set, elements: remove }, ...add(table, set, added)]
}

/** Rules go first, then the sets that they named, then the chains that elements of those led to. */
function tidyCommands({ goneChains, goneSets }: Difference, table: Table): readonly Command[] {
  return [
    ...goneChains.map((chain) => ({ do: 'flushChain', table, chain }) as const),
    ...goneSets.map((set) => ({ do: 'deleteSet', table, set }) as const),
    ...goneChains.map((chain) => ({ do: 'deleteChain', table, chain }) as const),
  ]
}

function add(table: Table, set: string, elements: readonly Element[]): readonly Command[] {
  const groups = elements.length === 0 ? [] : inGroups(elements, MAX_WEIGHT)
  return [...groups].map((some) => ({ do: 'addElements', table, set, elements: some }))
}

/** Cuts commands into transactions, in their order. */
function* cut(commands: readonly Command[]): Generator<readonly Command[]> {
  let transaction: Command[] = []
  let weight = 0
  for (const command of commands) {
    const own = weightOf([command])
    if (transaction.length > 0 && weight + own > MAX_WEIGHT) {
      yield transaction
      transaction = []
      weight = 0
    }
    transaction.push(command)
    weight += own
  }
  if (transaction.length > 0) yield transaction
}
