import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

const METADATA = { name: 'x', namespace: 'shop' }
const MAIN = { name: 'main', volumeMounts: [{ name: 'data', mountPath: '/data' }] }
const SPEC = {
  serviceName: 'db',
  selector: { matchLabels: { app: 'db' } },
  template: { metadata: { labels: { app: 'db' } }, spec: { containers: [MAIN] } },
  volumeClaimTemplates: [
    { metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: {} } },
  ],
}

function rejected(spec: Raw): readonly string[] {
  const object = applyDefaults('StatefulSet', { metadata: METADATA, spec: { ...SPEC, ...spec } })
  return placesOf(validateObject('StatefulSet', object))
}

test('the defaults are one Pod, started after the one before, whose volumes are kept', () => {
  const { template: _, ...spec } = applyDefaults('StatefulSet', {
    spec: { volumeClaimTemplates: [{}] },
  })['spec'] as Record<string, unknown>
  expect(spec).toEqual({
    replicas: 1,
    revisionHistoryLimit: 10,
    podManagementPolicy: 'OrderedReady',
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    volumeClaimTemplates: [{ spec: { volumeMode: 'Filesystem' }, status: { phase: 'Pending' } }],
  })
})

test('a container may mount a volume of a claim, and no other that is not declared', () => {
  expect(rejected({})).toEqual([])
  expect(rejected({ volumeClaimTemplates: [] })).toEqual([
    'spec.template.spec.containers[0].volumeMounts[0].name "data"',
  ])
})

test.each<[Raw, readonly string[]]>([
  [{ replicas: 0, podManagementPolicy: 'Parallel', updateStrategy: { type: 'OnDelete' } }, []],
  [{ updateStrategy: { rollingUpdate: { partition: 2, maxUnavailable: '25%' } } }, []],
  [
    { updateStrategy: { rollingUpdate: { maxUnavailable: '101%' } } },
    ['spec.updateStrategy.rollingUpdate.maxUnavailable "101%"'],
  ],
  [{ replicas: -1 }, ['spec.replicas -1']],
  [{ podManagementPolicy: 'Random' }, ['spec.podManagementPolicy "Random"']],
  [
    { persistentVolumeClaimRetentionPolicy: { whenScaled: 'Keep' } },
    ['spec.persistentVolumeClaimRetentionPolicy.whenScaled "Keep"'],
  ],
  [
    { updateStrategy: { type: 'OnDelete', rollingUpdate: {} } },
    ['spec.updateStrategy.rollingUpdate {}'],
  ],
  [
    { updateStrategy: { rollingUpdate: { partition: -1 } } },
    ['spec.updateStrategy.rollingUpdate.partition -1'],
  ],
  [{ selector: {} }, ['spec.selector {}']],
])('a StatefulSet with %j: rejected fields %j', (spec, expected) => {
  expect(rejected(spec)).toEqual(expected)
})

test('a claim has the name of a volume', () => {
  const places = rejected({ volumeClaimTemplates: [...SPEC.volumeClaimTemplates, {}] })
  expect(places).toEqual(['spec.volumeClaimTemplates[1].metadata.name (absent)'])
})
