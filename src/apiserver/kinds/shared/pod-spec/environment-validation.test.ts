import { expect, test } from 'vitest'
import type { Raw } from '../../../../resources/reader.ts'
import { placesOf } from '../../../../resources/testing/raw-objects.ts'
import { validateObject } from '../../testing/rules-by-kind.ts'

const FIELDS = ['containers', 'initContainers', 'ephemeralContainers']

function places(field: string, parts: Raw): readonly string[] {
  const containers = [{ name: 'main', image: 'none' }]
  const one = { name: 'other', image: 'none', ...parts }
  const spec = { containers, [field]: [one] }
  return placesOf(validateObject('Pod', { metadata: { name: 'x', namespace: 'shop' }, spec }))
}

function from(valueFrom: Raw): Raw {
  return { name: 'A', valueFrom }
}

const KEY = { name: 'a', key: 'k' }

test.each<[Raw, readonly string[]]>([
  [{ name: 'A', value: 'x' }, []],
  [{ name: 'my.var-1 x' }, []],
  [from({ fieldRef: { fieldPath: 'metadata.name' } }), []],
  [from({ secretKeyRef: { ...KEY, optional: true } }), []],
  [{ value: 'x' }, ['name (absent)']],
  [{ name: '' }, ['name ""']],
  [{ name: 'A=B' }, ['name "A=B"']],
  [{ name: 'A\0' }, ['name "A\\u0000"']],
  [{ name: 'A', value: 7 }, ['value 7']],
  [{ ...from({ secretKeyRef: KEY }), value: 'hunter2' }, ['value "(withheld)"']],
  [from({}), ['valueFrom.fileKeyRef (absent)']],
  [{ name: 'A', valueFrom: 'x' }, ['valueFrom "x"', 'valueFrom.fileKeyRef (absent)']],
  [from({ configMapKeyRef: KEY, secretKeyRef: KEY }), ['valueFrom.secretKeyRef "(withheld)"']],
  [
    from({ secretKeyRef: {} }),
    ['valueFrom.secretKeyRef.name (absent)', 'valueFrom.secretKeyRef.key (absent)'],
  ],
  [
    from({ secretKeyRef: 'a' }),
    [
      'valueFrom.secretKeyRef "a"',
      'valueFrom.secretKeyRef.name (absent)',
      'valueFrom.secretKeyRef.key (absent)',
    ],
  ],
  [from({ secretKeyRef: { ...KEY, name: '../b' } }), ['valueFrom.secretKeyRef.name "../b"']],
  [from({ secretKeyRef: { ...KEY, key: '..' } }), ['valueFrom.secretKeyRef.key ".."']],
  [from({ configMapKeyRef: { ...KEY, key: 'a/b' } }), ['valueFrom.configMapKeyRef.key "a/b"']],
  [from({ configMapKeyRef: { ...KEY, optional: 1 } }), ['valueFrom.configMapKeyRef.optional 1']],
])('the variable %j: %j', (variable, expected) => {
  for (const field of FIELDS) {
    const found = places(field, { env: [variable] })
    expect(found).toEqual(expected.map((one) => `spec.${field}[0].env[0].${one}`))
  }
})

test.each<[Raw, readonly string[]]>([
  [{ prefix: 'X_', secretRef: { name: 'a' } }, []],
  [{ prefix: '', configMapRef: { name: 'a', optional: true } }, []],
  [{ prefix: 'X=', secretRef: { name: 'a' } }, ['prefix "X="']],
  [{}, ['secretRef (absent)']],
  [{ secretRef: {} }, ['secretRef.name (absent)']],
  [{ secretRef: { name: 'a/b' } }, ['secretRef.name "a/b"']],
  [{ secretRef: { name: 'a' }, configMapRef: { name: 'a' } }, ['secretRef "(withheld)"']],
])('all variables of %j: %j', (source, expected) => {
  for (const field of FIELDS) {
    const found = places(field, { envFrom: [source] })
    expect(found).toEqual(expected.map((one) => `spec.${field}[0].envFrom[0].${one}`))
  }
})

test('pull secrets have names', () => {
  const spec = { containers: [{ name: 'main' }], imagePullSecrets: [{ name: 'a' }, {}, 'b'] }
  const pod = { metadata: { name: 'x', namespace: 'shop' }, spec }
  expect(placesOf(validateObject('Pod', pod))).toEqual([
    'spec.imagePullSecrets[2] "b"',
    'spec.imagePullSecrets[1].name (absent)',
  ])
})
