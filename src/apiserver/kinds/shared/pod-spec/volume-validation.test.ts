import { expect, test } from 'vitest'
import type { Raw } from '../../../../resources/raw.ts'
import { placesOf } from '../../../../resources/testing/raw-objects.ts'
import { validateObject } from '../../testing/rules-by-kind.ts'

function places(volumes: unknown): readonly string[] {
  const spec = { containers: [{ name: 'main' }], volumes }
  return placesOf(validateObject('Pod', { metadata: { name: 'x', namespace: 'shop' }, spec }))
}

function projected(source: Raw): readonly string[] {
  return places([{ name: 'v', projected: { sources: [source] } }])
}

test.each<[Raw, readonly string[]]>([
  [{ serviceAccountToken: { path: 'token', expirationSeconds: 600, audience: 'vault' } }, []],
  [{ configMap: { name: 'ca', items: [{ key: 'a', path: 'x/ca.crt' }] } }, []],
  [{ serviceAccountToken: {} }, ['serviceAccountToken.path (absent)']],
  [{ serviceAccountToken: { path: '../../etc/x' } }, ['serviceAccountToken.path "../../etc/x"']],
  [
    { serviceAccountToken: { path: 't', expirationSeconds: 599 } },
    ['serviceAccountToken.expirationSeconds 599'],
  ],
  [{ secret: { name: 'a', items: [{ path: '/abs' }] } }, ['secret.items[0].path "/abs"']],
  [{ secret: {} }, ['secret.name (absent)']],
])('the projection %j: %j', (source, expected) => {
  const found = expected.map((place) => `spec.volumes[0].projected.sources[0].${place}`)
  expect(projected(source)).toEqual(found)
})

test('volumes have names of their own, and no item leads out of one', () => {
  expect(places([{ name: 'a' }, { name: 'a' }, {}])).toEqual([
    'spec.volumes[1].name "a"',
    'spec.volumes[2].name (absent)',
  ])
  expect(places([{ name: 'a', secret: { items: [{ path: 'x/../y' }] } }])).toEqual([
    'spec.volumes[0].secret.items[0].path "x/../y"',
  ])
})
