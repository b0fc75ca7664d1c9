import { expect, test } from 'vitest'
import type { Raw } from '../../../../resources/reader.ts'
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
  [{ serviceAccountToken: { path: 't', audience: 7 } }, ['serviceAccountToken.audience 7']],
  [
    { serviceAccountToken: { path: 't', expirationSeconds: 2 ** 32 + 1 } },
    ['serviceAccountToken.expirationSeconds 4294967297'],
  ],
  [
    { serviceAccountToken: { path: 't', expirationSeconds: '600' } },
    ['serviceAccountToken.expirationSeconds "600"'],
  ],
  [
    { serviceAccountToken: { path: 't', expirationSeconds: 599 } },
    ['serviceAccountToken.expirationSeconds 599'],
  ],
  [{ secret: {} }, ['secret.name (absent)']],
  [{ secret: { name: '../b' } }, ['secret.name "../b"']],
  [{ secret: { name: 'a', optional: 'no' } }, ['secret.optional "no"']],
  [{ configMap: { name: 'a', items: [{ path: 'x' }] } }, ['configMap.items[0].key (absent)']],
  [
    { configMap: { name: 'a', items: [{ key: '../x', path: 'x', mode: 512 }] } },
    ['configMap.items[0].key "../x"', 'configMap.items[0].mode 512'],
  ],
  [
    { downwardAPI: { items: [{ path: '../x', mode: -1 }] } },
    ['downwardAPI.items[0].path "../x"', 'downwardAPI.items[0].mode -1'],
  ],
  [
    { secret: { name: 'a' }, serviceAccountToken: { path: 't' } },
    ['serviceAccountToken "(withheld)"'],
  ],
])('the projection %j: %j', (source, expected) => {
  const found = expected.map((place) => `spec.volumes[0].projected.sources[0].${place}`)
  expect(projected(source)).toEqual(found)
})

test('volumes have names of their own', () => {
  expect(places([{ name: 'a' }, { name: 'a' }, {}])).toEqual([
    'spec.volumes[1].name "a"',
    'spec.volumes[2].name (absent)',
  ])
})

test.each<[Raw, readonly string[]]>([
  [
    { secret: { secretName: 'a', defaultMode: 0o777, items: [{ key: '.x', path: 'x', mode: 0 }] } },
    [],
  ],
  [{ secret: { items: [] } }, ['secret.secretName (absent)']],
  [{ secret: { secretName: '' } }, ['secret.secretName ""']],
  [{ configMap: {} }, ['configMap.name (absent)']],
  [{ secret: { secretName: 'a', defaultMode: 512 } }, ['secret.defaultMode 512']],
  [{ configMap: { name: 'a', defaultMode: 4.5 } }, ['configMap.defaultMode 4.5']],
  [{ downwardAPI: { defaultMode: -1 } }, ['downwardAPI.defaultMode -1']],
  [{ projected: { defaultMode: '0644', sources: [] } }, ['projected.defaultMode "0644"']],
  [{ projected: { sources: {} } }, ['projected.sources {}']],
  [
    { secret: { secretName: 'a' }, emptyDir: {}, configMap: { name: 'a' } },
    ['emptyDir "(withheld)"', 'configMap "(withheld)"'],
  ],
  [
    { projected: { sources: [{ clusterTrustBundle: { path: '../x' } }] } },
    ['projected.sources[0].clusterTrustBundle.path "../x"'],
  ],
])('the volume %j: %j', (source, expected) => {
  expect(places([{ name: 'v', ...source }])).toEqual(
    expected.map((one) => `spec.volumes[0].${one}`),
  )
})

const HOSTILE = [
  '',
  '.',
  './',
  '..',
  '../x',
  '..data',
  '..x/y',
  'x/..',
  'x/../y',
  'x/./../../y',
  'x/',
  '/',
  '/etc/token',
  '//x',
  'x\0y',
  'x\ny',
  'x/.',
  7,
  null,
  ['x'],
  { a: 'x' },
]

test.each(HOSTILE)('no file of a volume is %j', (path) => {
  for (const volume of [
    { secret: { secretName: 'a', items: [{ key: 'k', path }] } },
    { configMap: { name: 'a', items: [{ key: 'k', path }] } },
    { downwardAPI: { items: [{ path }] } },
  ]) {
    expect(places([{ name: 'v', ...volume }])).toEqual([expect.stringContaining('.items[0].path ')])
  }
  expect(projected({ serviceAccountToken: { path } })).toHaveLength(1)
  expect(projected({ secret: { name: 'a', items: [{ key: 'k', path }] } })).toHaveLength(1)
  expect(projected({ configMap: { name: 'a', items: [{ key: 'k', path }] } })).toHaveLength(1)
  expect(projected({ downwardAPI: { items: [{ path }] } })).toHaveLength(1)
})

test.each(['token', 'a/b/c', './token', 'a//b', 'a..b', '.x', 'ä b'])(
  'a file of a volume may be %j',
  (path) => {
    expect(projected({ serviceAccountToken: { path } })).toEqual([])
  },
)

test('two sources of a projection write different files', () => {
  const sources = [
    { serviceAccountToken: { path: 'a/token' } },
    { secret: { name: 's', items: [{ key: 'k', path: 'a//token' }] } },
  ]
  expect(places([{ name: 'v', projected: { sources } }])).toEqual([
    'spec.volumes[0].projected.sources[1].secret.items[0].path "a//token"',
  ])
})
