import type { Command, Element, Table } from '../../../kernel/nftables/objects.ts'
import type { PlacedElement } from '../../../kernel/nftables/rules/digest.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Change, ObjectKey } from '../../mode.ts'
import { SET, tableOf } from '../keys/names.ts'
import { type ObjectKind, objectOf } from '../keys/object-key.ts'
import type { Content } from '../program/content.ts'
import type { NftablesProgram } from '../program/program.ts'
import type { ManagedState } from './managed-state.ts'

/** What one object contributes to transactions. */
export interface Step {
  readonly key: ObjectKey
  readonly commands: readonly Command[]
  /** Steps of one group, such as the frontends of an entry, belong into one transaction. */
  readonly group?: string
}

/** The present elements of objects that are to change. */
export interface PresentElements {
  /** The elements of a frontend. */
  ofFrontend(key: ObjectKey): readonly PlacedElement[]
  /** The elements of a set that has elements of its own. */
  ofSet(key: ObjectKey): readonly PlacedElement[]
  /** For a set of backends: the clients that are remembered with a backend that has left. */
  staleClientsOf(key: ObjectKey): readonly PlacedElement[]
}

/**
 * The steps of a change of one family. They are ordered so that each finds what it refers to, and nothing that stays
 * refers to something that is removed: sets, chains, rules, elements of sets, frontends; then chains and sets that are
 * not wanted. The elements of Service ranges come after the frontends: otherwise packets to a frontend would be
 * refused until it exists.
 */
export function* stepsOf(
  { set, unset }: Change,
  family: Family,
  state: ManagedState,
  present: PresentElements,
): Generator<Step> {
  const table = tableOf(family)
  const wanted = byKind(set, family)
  const leaving = byKind(
    unset.filter((key) => state.record.has(key)),
    family,
  )
  for (const key of wanted.table) yield { key, commands: [{ do: 'addTable', table }] }
  yield* setSteps(wanted.set, state)
  yield* chainSteps(wanted.chain, state)
  const isRanges = (key: ObjectKey) => objectOf(key).name === SET.serviceRanges
  const early = wanted.set.filter((key) => !isRanges(key))
  yield* elementSteps(early, state, present)
  const placed = [...wanted.address, ...leaving.address, ...wanted.frontend, ...leaving.frontend]
  yield* frontendSteps(placed, state, present)
  yield* elementSteps(wanted.set.filter(isRanges), state, present)
  if (leaving.table.length > 0) {
    for (const key of leaving.table) yield { key, commands: [{ do: 'deleteTable', table }] }
    return
  }
  for (const key of leaving.chain) {
    yield { key, commands: [{ do: 'flushChain', table, chain: objectOf(key).name }] }
  }
  for (const key of leaving.chain) {
    yield { key, commands: [{ do: 'deleteChain', table, chain: objectOf(key).name }] }
  }
  for (const key of leaving.set) {
    yield { key, commands: [{ do: 'deleteSet', table, set: objectOf(key).name }] }
  }
}

function byKind(keys: readonly ObjectKey[], family: Family) {
  const kinds: Record<ObjectKind, ObjectKey[]> = {
    table: [],
    set: [],
    chain: [],
    frontend: [],
    address: [],
  }
  for (const key of keys) {
    const name = objectOf(key)
    if (name.family === family) kinds[name.kind].push(key)
  }
  return kinds
}

/** Sets without their elements. A set that exists stays; if it has another form, the command is refused. */
function* setSteps(keys: readonly ObjectKey[], { program, record }: ManagedState): Generator<Step> {
  for (const { key, content } of contentsOf(keys, 'set', program)) {
    if (record.holdingOf(key) === 'fixed') continue
    const { name, spec } = content
    yield { key, commands: [{ do: 'addSet', table: tableFor(key), set: name, spec }] }
  }
}

/** Creates all chains before the rules that lead from one to another. */
function* chainSteps(keys: readonly ObjectKey[], { program }: ManagedState): Generator<Step> {
  for (const { key, content } of contentsOf(keys, 'chain', program)) {
    const { name, spec } = content
    yield { key, commands: [{ do: 'addChain', table: tableFor(key), chain: name, spec }] }
  }
  for (const { key, content } of contentsOf(keys, 'chain', program)) {
    const [table, chain] = [tableFor(key), content.name]
    const rules = content.rules.map((rule): Command => ({ do: 'addRule', table, chain, rule }))
    yield { key, commands: [{ do: 'flushChain', table, chain }, ...rules] }
  }
}

/** Writes the elements of sets themselves, and removes clients with a backend that left. */
function* elementSteps(
  keys: readonly ObjectKey[],
  { program }: ManagedState,
  present: PresentElements,
): Generator<Step> {
  for (const { key, content } of contentsOf(keys, 'set', program)) {
    const table = tableFor(key)
    const after = content.elements.map((element) => ({ set: content.name, element }))
    const commands = elementCommands(table, changesOf(present.ofSet(key), after))
    for (const [set, stale] of Map.groupBy(present.staleClientsOf(key), (one) => one.set)) {
      commands.push(
        ...forget(
          table,
          set,
          stale.map(({ element }) => element),
        ),
      )
    }
    if (commands.length > 0) yield { key, commands }
  }
}

function* frontendSteps(
  keys: readonly ObjectKey[],
  { program }: ManagedState,
  present: PresentElements,
): Generator<Step> {
  const groups = Map.groupBy(keys, (key) => program.entryOf(key)?.id ?? key)
  for (const [group, members] of groups) {
    for (const key of members) {
      const content = program.contentOf(key)
      const after = content?.kind === 'frontend' ? content.elements : []
      const changes = changesOf(present.ofFrontend(key), after)
      const commands = elementCommands(tableFor(key), changes)
      yield { key, commands, group }
    }
  }
}

function* contentsOf<K extends Content['kind']>(
  keys: readonly ObjectKey[],
  kind: K,
  program: NftablesProgram,
): Generator<{ readonly key: ObjectKey; readonly content: Extract<Content, { kind: K }> }> {
  for (const key of keys) {
    const content = program.contentOf(key)
    if (isOfKind(content, kind)) yield { key, content }
  }
}

function isOfKind<K extends Content['kind']>(
  content: Content | undefined,
  kind: K,
): content is Extract<Content, { kind: K }> {
  return content?.kind === kind
}

function tableFor(key: ObjectKey): Table {
  return tableOf(objectOf(key).family)
}

/** Milliseconds. A client that expires so soon may be gone before the transaction, which would then be refused. */
const SOON = 10_000

/** Deletes clients. One that expires soon is added first: this renews it if it still exists. */
function forget(table: Table, set: string, clients: readonly Element[]): readonly Command[] {
  const renewed = clients.filter(({ expires = 0 }) => expires < SOON)
  const commands: Command[] = [{ do: 'deleteElements', table, set, elements: clients }]
  if (renewed.length > 0) commands.unshift({ do: 'addElements', table, set, elements: renewed })
  return commands
}

/** Elements to delete and to add, by set. */
interface ElementChanges {
  readonly remove: ReadonlyMap<string, readonly Element[]>
  readonly add: ReadonlyMap<string, readonly Element[]>
}

/** The changes that turn the elements `before` into `after`; an element that differs is removed and added. */
export function changesOf(
  before: readonly PlacedElement[],
  after: readonly PlacedElement[],
): ElementChanges {
  const remove = new Map<string, Element[]>()
  const add = new Map<string, Element[]>()
  const old = new Map(before.map((one) => [idOf(one), one]))
  for (const one of after) {
    // At a start `before` is empty, and hundreds of thousands of elements need no id.
    const id = before.length === 0 ? '' : idOf(one)
    const there = old.get(id)
    old.delete(id)
    if (there && isSame(there.element, one.element)) continue
    if (there) append(remove, there)
    append(add, one)
  }
  for (const one of old.values()) append(remove, one)
  return { remove, add }
}

/** Deletions come first: a new range may overlap one that is deleted. */
export function elementCommands(table: Table, { remove, add }: ElementChanges): Command[] {
  const commands: Command[] = []
  for (const [set, elements] of remove) {
    commands.push({ do: 'deleteElements', table, set, elements })
  }
  for (const [set, elements] of add) commands.push({ do: 'addElements', table, set, elements })
  return commands
}

function append(to: Map<string, Element[]>, { set, element }: PlacedElement): void {
  const list = to.get(set)
  if (list) list.push(element)
  else to.set(set, [element])
}

function idOf({ set, element: { key, keyEnd } }: PlacedElement): string {
  return `${set} ${key.toString('latin1')} ${keyEnd?.toString('latin1') ?? ''}`
}

function isSame(a: Element, b: Element): boolean {
  return a.comment === b.comment && (a.timeout ?? 0) === (b.timeout ?? 0) && hasSameData(a, b)
}

function hasSameData({ data: a }: Element, { data: b }: Element): boolean {
  if (a === undefined || b === undefined) return a === b
  if (Buffer.isBuffer(a) || Buffer.isBuffer(b)) {
    return Buffer.isBuffer(a) && Buffer.isBuffer(b) && a.equals(b)
  }
  const chainOf = (verdict: typeof a) => ('chain' in verdict ? verdict.chain : undefined)
  return a.kind === b.kind && chainOf(a) === chainOf(b)
}
