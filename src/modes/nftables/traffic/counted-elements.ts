import type { Element } from '../../../kernel/nftables/objects.ts'
import type { Family } from '../../../lib/ip.ts'
import type { ManagedState } from '../kernel/managed-state.ts'
import { tableOf } from '../keys/names.ts'

export type CountedElement = Element & Required<Pick<Element, 'counter'>>

/** The elements of a set that count, each once: a list that is repeated passes some twice. */
export async function countedElements(
  { nftables }: Pick<ManagedState, 'nftables'>,
  family: Family,
  set: string,
): Promise<Iterable<CountedElement>> {
  const elements = new Map<string, CountedElement>()
  await nftables.elements(tableOf(family), set, (element) => {
    const { counter } = element
    if (counter) elements.set(element.key.toString('latin1'), { ...element, counter })
  })
  return elements.values()
}
