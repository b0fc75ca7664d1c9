import type { Json, JsonObject } from '../../lib/json.ts'
import { evaluate } from '../jsonpath/evaluate.ts'
import { pathOf } from '../output/custom-columns.ts'

/** Sorts items by a field of their objects; those without it come first. */
export type Sorter = <T>(items: readonly T[], objectOf: (item: T) => JsonObject) => readonly T[]

/** The sorter for the path of a field. @throws NP_ORCHCTL_USAGE */
export function sorterBy(field: string): Sorter {
  const path = pathOf(field)
  return (items, objectOf) => {
    const keyed = items.map((item) => {
      const object = objectOf(item)
      return { item, key: evaluate(path, object, object)[0] }
    })
    return keyed.sort((a, b) => compare(a.key, b.key)).map(({ item }) => item)
  }
}

function compare(a: Json | undefined, b: Json | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const [one, other] = [a, b].map((key) => (typeof key === 'string' ? key : JSON.stringify(key)))
  return one === other ? 0 : (one ?? '') < (other ?? '') ? -1 : 1
}
