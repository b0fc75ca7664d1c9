import { expect, test } from 'vitest'
import type { Raw } from '../../../resources/reader.ts'
import { placesOf } from '../../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from '../testing/rules-by-kind.ts'

function places(parts: Raw): readonly string[] {
  const object = { metadata: { name: 'x', namespace: 'shop' }, ...parts }
  return placesOf(validateObject('ServiceAccount', applyDefaults('ServiceAccount', object)))
}

test.each<[Raw, readonly string[]]>([
  [{}, []],
  [
    {
      automountServiceAccountToken: false,
      secrets: [{ name: 'a' }],
      imagePullSecrets: [{ name: 'b.c' }],
    },
    [],
  ],
  [{ automountServiceAccountToken: 'no' }, ['automountServiceAccountToken "no"']],
  [{ secrets: ['a', {}] }, ['secrets[0] "a"', 'secrets[1].name (absent)']],
  [{ imagePullSecrets: [{ name: 'A b' }] }, ['imagePullSecrets[0].name "A b"']],
])('%j: %j', (parts, expected) => {
  expect(places(parts)).toEqual(expected)
})
