import { expect, test } from 'vitest'
import type { Raw } from '../../../../resources/reader.ts'
import { placesOf } from '../../../../resources/testing/raw-objects.ts'
import { validateObject } from '../../testing/rules-by-kind.ts'

function places(volumeMounts: unknown): readonly string[] {
  const main = { name: 'main', image: 'none', volumeMounts }
  const spec = { containers: [main], volumes: [{ name: 'v' }, { name: 'w' }] }
  return placesOf(validateObject('Pod', { metadata: { name: 'x', namespace: 'shop' }, spec }))
}

test.each<[Raw, readonly string[]]>([
  [{ name: 'v', mountPath: '/a', readOnly: true, subPath: 'b/c' }, []],
  [{ name: 'u', mountPath: '/a' }, ['name "u"']],
  [{ mountPath: '/a' }, ['name (absent)']],
  [{ name: 'v' }, ['mountPath (absent)']],
  [{ name: 'v', mountPath: '' }, ['mountPath ""']],
  [{ name: 'v', mountPath: '/a\0b' }, ['mountPath "/a\\u0000b"']],
  [{ name: 'v', mountPath: ['/a'] }, ['mountPath ["/a"]']],
  [{ name: 'v', mountPath: '/a', readOnly: 'yes' }, ['readOnly "yes"']],
  [{ name: 'v', mountPath: '/a', subPath: '../x' }, ['subPath "../x"']],
  [{ name: 'v', mountPath: '/a', subPath: '/x' }, ['subPath "/x"']],
  [{ name: 'v', mountPath: '/a', subPathExpr: '$(X)/../..' }, ['subPathExpr "$(X)/../.."']],
])('the mount %j: %j', (mount, expected) => {
  expect(places([mount])).toEqual(
    expected.map((one) => `spec.containers[0].volumeMounts[0].${one}`),
  )
})

test('no two volumes are at one path, however it is written', () => {
  const at = (mountPath: string) => ({ name: 'v', mountPath })
  expect(places([at('/a'), at('/a/b'), at('a//b/')])).toEqual([
    'spec.containers[0].volumeMounts[2].mountPath "a//b/"',
  ])
  expect(places({ name: 'v' })).toEqual([
    expect.stringMatching(/^spec\.containers\[0\]\.volumeMounts /),
  ])
})
