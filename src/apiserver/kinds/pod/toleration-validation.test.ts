import { expect, test } from 'vitest'
import type { Raw } from '../../../resources/reader.ts'
import { placesOf } from '../../../resources/testing/raw-objects.ts'
import { validateObject } from '../testing/rules-by-kind.ts'

test.each<[Raw, readonly string[]]>([
  [{ operator: 'Exists' }, []],
  [{ key: 'a/b', value: 'c' }, []],
  [{ key: 'a', operator: 'Equal', effect: 'NoExecute', tolerationSeconds: -1 }, []],
  [{}, ['operator (absent)']],
  [{ operator: 'Equal', value: 'x' }, ['operator "Equal"']],
  [{ key: 'a b', operator: 'Exists' }, ['key "a b"']],
  [{ key: 'a', operator: 'Exists', value: 'x' }, ['value "x"']],
  [{ key: 'a', value: 'x y' }, ['value "x y"']],
  [{ key: 'a', operator: 'Like' }, ['operator "Like"']],
  [{ key: 'a', effect: 'Never' }, ['effect "Never"']],
  [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }, ['effect "NoSchedule"']],
])('a Pod with the toleration %j: rejected fields %j', (toleration, expected) => {
  const spec = { containers: [{ name: 'main' }], tolerations: [toleration] }
  const pod = { metadata: { name: 'x', namespace: 'shop' }, spec }
  const places = expected.map((field) => `spec.tolerations[0].${field}`)
  expect(placesOf(validateObject('Pod', pod))).toEqual(places)
})
