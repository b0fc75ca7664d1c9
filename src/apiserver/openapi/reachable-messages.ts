import { fieldsOf } from '../schema/schema.ts'
import { isScalar } from './scalar-schema.ts'

/** The messages themselves and all that their fields lead to, in alphabetical order. */
export function reachableMessages(roots: Iterable<string>): readonly string[] {
  const found = new Set<string>()
  const open = [...roots]
  for (let message = open.pop(); message !== undefined; message = open.pop()) {
    if (found.has(message)) continue
    found.add(message)
    for (const { type } of fieldsOf(message)?.values() ?? []) if (!isScalar(type)) open.push(type)
  }
  return [...found].sort()
}
