import type { Nftables } from '../../../kernel/nftables/nftables.ts'
import type { Element, Table } from '../../../kernel/nftables/objects.ts'
import type { ObjectKey } from '../../mode.ts'
import type { PlacedElement } from '../keys/digest.ts'
import { tableOf } from '../keys/names.ts'
import { objectOf } from '../keys/object-key.ts'
import type { ManagedState } from './managed-state.ts'
import { recordedElements } from './recorded-elements.ts'

/**
 * The elements of one frontend in the kernel: of those that it should have, that it had when it was last written or
 * read, and that another program touched since.
 */
export async function readFrontend(
  state: ManagedState,
  key: ObjectKey,
): Promise<readonly PlacedElement[]> {
  const { nftables, program, suspects } = state
  const table = tableOf(objectOf(key).family)
  const content = program.contentOf(key)
  const wanted = content?.kind === 'frontend' ? content.elements : []
  const candidates = [...wanted, ...recordedElements(state, key), ...suspects.take(key)]
  const bySet = Map.groupBy(candidates, ({ set }) => set)
  const found: PlacedElement[] = []
  for (const [set, placed] of bySet) {
    const keys = new Map(placed.map(({ element }) => [element.key.toString('latin1'), element.key]))
    const there = await lookUp(nftables, { table, set }, [...keys.values()])
    for (const element of there) found.push({ set, element })
  }
  return found
}

/** `Nftables.lookup` ends at the first key that is not there; this one goes on behind it. */
async function lookUp(
  nftables: Nftables,
  { table, set }: { readonly table: Table; readonly set: string },
  keys: readonly Buffer[],
): Promise<readonly Element[]> {
  const found = new Map<string, Element>()
  for (let at = 0; at < keys.length; ) {
    const some = await nftables.lookup(table, set, keys.slice(at))
    for (const element of some) found.set(element.key.toString('latin1'), element)
    at += some.length + 1
  }
  return [...found.values()]
}
