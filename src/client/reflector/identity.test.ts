import { expect, test } from 'vitest'
import { readIdentity } from './identity.ts'

test('the identity has the key and the resourceVersion', () => {
  const metadata = { name: 'web', namespace: 'shop', resourceVersion: '7' }
  expect(readIdentity({ metadata })).toEqual({ key: 'shop/web', version: '7' })
  expect(readIdentity({ metadata: { name: 'node-1' } })).toEqual({ key: 'node-1', version: '' })
})

test.each([
  undefined,
  null,
  'text',
  [],
  {},
  { metadata: null },
  { metadata: { name: '' } },
  { metadata: { name: 7 } },
  { metadata: { name: 'shop/web' } },
  { metadata: { name: 'web', namespace: 'a/b' } },
  { metadata: { name: 'web', namespace: 7 } },
  { metadata: { name: 'x'.repeat(700) } },
])('%j has no identity', (raw) => {
  expect(readIdentity(raw)).toBeUndefined()
})
