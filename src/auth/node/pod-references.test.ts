import { expect, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { podNeeds } from './pod-references.ts'

const from = (source: JsonObject) => ({ env: [{ name: 'A', valueFrom: source }] })
const container = (given: JsonObject) => ({ name: 'c', ...given })

/** Every place of a Pod that names a Secret, whose name is `x`. */
const SECRETS: readonly (readonly [string, JsonObject])[] = [
  ['a pull secret', { imagePullSecrets: [{ name: 'x' }] }],
  ['a volume', { volumes: [{ name: 'v', secret: { secretName: 'x' } }] }],
  [
    'a projected volume',
    { volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 'x' } }] } }] },
  ],
  ['an Azure share', { volumes: [{ name: 'v', azureFile: { secretName: 'x' } }] }],
  ['a CSI volume', { volumes: [{ name: 'v', csi: { nodePublishSecretRef: { name: 'x' } } }] }],
  ...['cephfs', 'cinder', 'flexVolume', 'iscsi', 'rbd', 'scaleIO', 'storageos'].map(
    (source): [string, JsonObject] => [
      `a volume of ${source}`,
      { volumes: [{ name: 'v', [source]: { secretRef: { name: 'x' } } }] },
    ],
  ),
  ...['containers', 'initContainers', 'ephemeralContainers'].flatMap(
    (list): [string, JsonObject][] => [
      [
        `a variable of ${list}`,
        { [list]: [container(from({ secretKeyRef: { name: 'x', key: 'k' } }))] },
      ],
      [
        `all variables of ${list}`,
        { [list]: [container({ envFrom: [{ secretRef: { name: 'x' } }] })] },
      ],
    ],
  ),
]

const CONFIG_MAPS: readonly (readonly [string, JsonObject])[] = [
  ['a volume', { volumes: [{ name: 'v', configMap: { name: 'x' } }] }],
  [
    'a projected volume',
    { volumes: [{ name: 'v', projected: { sources: [{ configMap: { name: 'x' } }] } }] },
  ],
  ['a variable', { containers: [container(from({ configMapKeyRef: { name: 'x', key: 'k' } }))] }],
  ['all variables', { containers: [container({ envFrom: [{ configMapRef: { name: 'x' } }] })] }],
]

const KINDS = ['secrets', 'configmaps', 'serviceaccounts']

test.each(SECRETS)('a Pod needs the Secret that %s names, and nothing else', (_where, spec) => {
  expect(KINDS.filter((kind) => podNeeds({ spec }, kind, 'x'))).toEqual(['secrets'])
  expect(KINDS.filter((kind) => podNeeds({ spec }, kind, 'y'))).toEqual([])
})

test.each(CONFIG_MAPS)('a Pod needs the ConfigMap that %s names, and nothing else', (_at, spec) => {
  expect(KINDS.filter((kind) => podNeeds({ spec }, kind, 'x'))).toEqual(['configmaps'])
  expect(KINDS.filter((kind) => podNeeds({ spec }, kind, 'y'))).toEqual([])
})

test('a Pod needs its account, which is `default` where it names none', () => {
  const needs = (spec: JsonObject) =>
    ['default', 'robot', ''].filter((name) => podNeeds({ spec }, 'serviceaccounts', name))
  expect(needs({ serviceAccountName: 'robot' })).toEqual(['robot'])
  expect(needs({})).toEqual(['default'])
  expect(needs({ serviceAccountName: '' })).toEqual(['default'])
})

test.each(['kubernetes.io', 'orch.io'])('a mirror Pod of %s gives its node no right', (brand) => {
  const metadata = { annotations: { [`${brand}/config.mirror`]: 'hash' } }
  const spec = { volumes: [{ secret: { secretName: 's' } }, { configMap: { name: 'c' } }] }
  const needs = (kind: string, name: string) => podNeeds({ metadata, spec }, kind, name)
  expect([
    needs('serviceaccounts', 'default'),
    needs('secrets', 's'),
    needs('configmaps', 'c'),
  ]).toEqual([false, false, false])
})
