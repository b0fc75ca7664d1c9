import { NodeProxyError } from '../lib/error.ts'
import { quote } from '../lib/quote.ts'
import type { Operation } from './store.ts'

/** @throws NP_STORAGE_DUPLICATE_KEY when two operations of a transaction have the same key */
export function refuseDuplicateKeys(operations: readonly Operation[]): void {
  const keys = new Set<string>()
  for (const { key } of operations) {
    if (keys.has(key)) {
      throw new NodeProxyError('NP_STORAGE_DUPLICATE_KEY', `two operations on ${quote(key)}`, {
        object: key,
        hint: 'merge them into one operation',
      })
    }
    keys.add(key)
  }
}
