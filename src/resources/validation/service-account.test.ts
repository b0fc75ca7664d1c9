import { expect, test } from 'vitest'
import { applyDefaults } from '../defaults.ts'
import { placesOf } from '../fixtures.ts'
import type { Raw } from '../raw.ts'
import { validateObject } from '../validate.ts'

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
