import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { startApi } from '../testing/test-api.ts'
import { applyDefaults, validateObject, validateUpdate } from './testing/rules-by-kind.ts'

const metadata = { name: 'csi.example.com' }
const DRIVER = { name: 'csi.example.com', nodeID: 'a', topologyKeys: ['topology.io/zone'] }
const ATTACHMENT = {
  attacher: 'csi.example.com',
  source: { persistentVolumeName: 'pv' },
  nodeName: 'n1',
}

function placesIn(kind: string, raw: Raw): readonly string[] {
  return placesOf(validateObject(kind, applyDefaults(kind, { metadata, ...raw })))
}

test.each<[string, Raw]>([
  ['CSINode', { spec: { drivers: [] } }],
  ['CSINode', { spec: { drivers: null } }],
  ['CSINode', { spec: { drivers: [DRIVER, { name: 'b', nodeID: 'x', topologyKeys: null }] } }],
  ['CSINode', { spec: { drivers: [{ ...DRIVER, allocatable: { count: 0 } }] } }],
  ['CSIDriver', { spec: {} }],
  ['CSIDriver', { spec: { tokenRequests: [{ audience: '' }, { audience: 'a' }] } }],
  ['VolumeAttachment', { spec: ATTACHMENT }],
  ['VolumeAttachment', { spec: { ...ATTACHMENT, source: { inlineVolumeSpec: {} } } }],
  ['RuntimeClass', { handler: 'runc' }],
  [
    'RuntimeClass',
    {
      handler: 'runc',
      overhead: { podFixed: { cpu: '250m', memory: 1024 } },
      scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }] },
    },
  ],
])('a sound %s: %j', (kind, raw) => {
  expect(placesIn(kind, raw)).toEqual([])
})

test.each<[string, Raw, readonly string[]]>([
  ['CSINode', { spec: { drivers: [{ ...DRIVER, name: 'A b' }] } }, ['spec.drivers[0].name "A b"']],
  ['CSINode', { spec: { drivers: [DRIVER, DRIVER] } }, ['spec.drivers[1].name "csi.example.com"']],
  ['CSINode', { spec: { drivers: [{ ...DRIVER, nodeID: '' }] } }, ['spec.drivers[0].nodeID ""']],
  [
    'CSINode',
    { spec: { drivers: [{ ...DRIVER, topologyKeys: ['a', 'a', 'b c'] }] } },
    ['spec.drivers[0].topologyKeys[1] "a"', 'spec.drivers[0].topologyKeys[2] "b c"'],
  ],
  [
    'CSINode',
    { spec: { drivers: [{ ...DRIVER, allocatable: { count: -1 } }] } },
    ['spec.drivers[0].allocatable.count -1'],
  ],
  ['CSIDriver', { metadata: { name: `${'a.'.repeat(32)}b` }, spec: {} }, [expect.any(String)]],
  ['CSIDriver', { spec: { attachRequired: 'yes' } }, ['spec.attachRequired "yes"']],
  ['CSIDriver', { spec: { fsGroupPolicy: 'All' } }, ['spec.fsGroupPolicy "All"']],
  ['CSIDriver', { spec: { volumeLifecycleModes: ['x'] } }, ['spec.volumeLifecycleModes[0] "x"']],
  [
    'CSIDriver',
    { spec: { tokenRequests: [{ audience: 'a' }, { audience: 'a', expirationSeconds: 599 }] } },
    ['spec.tokenRequests[1].audience "a"', 'spec.tokenRequests[1].expirationSeconds 599'],
  ],
  [
    'CSIDriver',
    { spec: { serviceAccountTokenInSecrets: true, nodeAllocatableUpdatePeriodSeconds: 9 } },
    ['spec.nodeAllocatableUpdatePeriodSeconds 9', 'spec.serviceAccountTokenInSecrets true'],
  ],
  [
    'VolumeAttachment',
    { spec: {} },
    [
      'spec.attacher (absent)',
      'spec.nodeName (absent)',
      'spec.source.persistentVolumeName (absent)',
    ],
  ],
  [
    'VolumeAttachment',
    { spec: { ...ATTACHMENT, source: { persistentVolumeName: 'a', inlineVolumeSpec: {} } } },
    ['spec.source.persistentVolumeName "a"'],
  ],
  ['RuntimeClass', {}, ['handler (absent)']],
  ['RuntimeClass', { handler: 'A' }, ['handler "A"']],
  [
    'RuntimeClass',
    { handler: 'a', overhead: { podFixed: { cpu: '-1', memory: 'x' } } },
    ['overhead.podFixed[cpu] "-1"', 'overhead.podFixed[memory] "x"'],
  ],
  [
    'RuntimeClass',
    {
      handler: 'a',
      scheduling: { nodeSelector: { 'a b': '' }, tolerations: [{ key: 'a', effect: 'x' }] },
    },
    ['scheduling.nodeSelector {"a b":""}', 'scheduling.tolerations[0].effect "x"'],
  ],
])('a %s may not be %j', (kind, raw, places) => {
  expect(placesIn(kind, raw)).toEqual(places)
})

test.each<[string, Raw, Raw, readonly string[]]>([
  ['RuntimeClass', { handler: 'a' }, { handler: 'b' }, ['handler "a"']],
  [
    'CSINode',
    { spec: { drivers: [{ ...DRIVER, nodeID: 'b', allocatable: { count: 7 } }] } },
    { spec: { drivers: [DRIVER] } },
    ['spec.drivers[0].nodeID "b"'],
  ],
  [
    'CSINode',
    { spec: { drivers: [{ ...DRIVER, name: 'new' }] } },
    { spec: { drivers: [DRIVER] } },
    [],
  ],
  [
    'CSIDriver',
    { spec: { attachRequired: false } },
    { spec: { attachRequired: true } },
    ['spec.attachRequired false'],
  ],
  ['CSIDriver', { spec: { podInfoOnMount: true } }, { spec: { podInfoOnMount: false } }, []],
])('a %s changed to %j from %j', (kind, next, old, places) => {
  expect(placesOf(validateUpdate(kind, next, old))).toEqual(places)
})

test('a CSIDriver has the defaults of Kubernetes', () => {
  expect(applyDefaults('CSIDriver', {})).toEqual({
    spec: {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      requiresRepublish: false,
      seLinuxMount: false,
      volumeLifecycleModes: ['Persistent'],
    },
  })
})

test('they are served under both groups; whether a volume is attached is status', async () => {
  const api = await startApi()
  const path = '/apis/storage.orch.io/v1/volumeattachments'
  const made = await api.make(path, {
    metadata: { name: 'a' },
    spec: ATTACHMENT,
    status: { attached: true },
  })
  expect(made).toMatchObject({ status: { attached: false } })
  const body = { ...made, status: { attached: true } }
  expect((await api.call('PUT', `${path}/a/status`, { body })).body).toMatchObject({
    status: body.status,
  })
  const changed = { metadata: { name: 'a' }, spec: { ...ATTACHMENT, nodeName: 'n2' } }
  expect((await api.call('PUT', `${path}/a`, { body: changed })).status).toBe(422)
  const { body: list } = await api.call('GET', path.replace('orch.io', 'k8s.io'))
  expect(list).toMatchObject({
    apiVersion: 'storage.k8s.io/v1',
    items: [{ metadata: { name: 'a' } }],
  })
})
