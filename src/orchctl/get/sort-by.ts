import type { Json, JsonObject } from '../../lib/json.ts'
import { evaluate } from '../jsonpath/evaluate.ts'
import type { Path } from '../jsonpath/template.ts'

/** Items in the order of a field of their objects; those without it come first. */
export function sortedBy<T>(
  items: readonly T[],
  path: Path | undefined,
  objectOf: (item: T) => JsonObject,
): readonly T[] {
  if (path === undefined) return items
  const keyed = items.map((item) => {
    const object = objectOf(item)
    return { item, key: evaluate(path, object, object)[0] }
  })
  return keyed.sort((a, b) => compare(a.key, b.key)).map(({ item }) => item)
}

function compare(a: Json | undefined, b: Json | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  const [one, other] = [a, b].map((key) => (typeof key === 'string' ? key : JSON.stringify(key)))
  return one === other ? 0 : (one ?? '') < (other ?? '') ? -1 : 1
}
