import { union } from './field-set.ts'
import type { Owner } from './owner.ts'

/** Owners by update that an object remembers one by one. */
const MAX_UPDATERS = 10

/** The owner that the oldest updaters are joined into. */
const ANCIENT = 'ancient-changes'

/** The owners, the oldest of too many updaters joined into one: clients must not make objects grow. */
export function boundedOwners(owners: readonly Owner[]): readonly Owner[] {
  const updaters = owners
    .filter(({ operation }) => operation === 'Update')
    .toSorted((a, b) => (a.time < b.time ? -1 : 1))
  const surplus = updaters.slice(0, -(MAX_UPDATERS - 1))
  const newest = surplus.at(-1)
  if (updaters.length <= MAX_UPDATERS || newest === undefined) return owners
  const fields = surplus.map((owner) => owner.fields).reduce(union)
  const ancient: Owner = { ...newest, name: ANCIENT, subresource: '', fields }
  return [...owners.filter((owner) => !surplus.includes(owner)), ancient]
}
