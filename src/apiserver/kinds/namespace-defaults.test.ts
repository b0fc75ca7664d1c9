import { expect, test } from 'vitest'
import { applyDefaults } from './testing/rules-by-kind.ts'

test('a namespace carries its name as a label, whatever was sent', () => {
  const labels = { a: 'b', 'kubernetes.io/metadata.name': 'other' }
  expect(applyDefaults('Namespace', { metadata: { name: 'shop', labels } })).toEqual({
    metadata: { name: 'shop', labels: { a: 'b', 'kubernetes.io/metadata.name': 'shop' } },
  })
  expect(applyDefaults('Namespace', { metadata: { name: 7 } })).toEqual({ metadata: { name: 7 } })
  expect(applyDefaults('Namespace', {})).toEqual({})
})
