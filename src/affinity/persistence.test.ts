import { expect, test } from 'vitest'
import type { ForwardingEntry } from '../forwarding/entry.ts'
import { persistenceOf } from './persistence.ts'

test.each([
  [4, 32],
  [6, 128],
] as const)('clients of IPv%i are single addresses', (family, prefix) => {
  const entry = { family, affinity: { seconds: 300 } } as ForwardingEntry
  expect(persistenceOf(entry)).toEqual({ seconds: 300, prefix })
  expect(persistenceOf({ ...entry, affinity: undefined })).toBeUndefined()
})
