import type { Command, Element, Table } from '../../../kernel/nftables/objects.ts'
import type { PlacedElement } from '../keys/digest.ts'

/** Elements to delete and to add, by set. */
export interface ElementChanges {
  readonly remove: ReadonlyMap<string, readonly Element[]>
  readonly add: ReadonlyMap<string, readonly Element[]>
}

/** What leads from the elements `before` to those of `after`; one that differs is removed and added. */
export function changesOf(
  before: readonly PlacedElement[],
  after: readonly PlacedElement[],
): ElementChanges {
  const remove = new Map<string, Element[]>()
  const add = new Map<string, Element[]>()
  const old = new Map(before.map((one) => [idOf(one), one]))
  for (const one of after) {
    // At a start nothing is there, and hundreds of thousands of elements need no name.
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

/** Deletions come first: a range may take the place of another one. */
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
