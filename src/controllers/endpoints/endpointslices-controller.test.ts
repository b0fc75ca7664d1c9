import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import {
  BORN,
  LEAVING,
  NOT_READY,
  namedPorts,
  type PodParts,
  rawNode,
  rawPod,
  rawService,
  readyCondition,
  relabelled,
} from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { endpointSlicesController as controller } from './endpointslices-controller.ts'

async function settled(service: JsonObject, ...pods: readonly JsonObject[]): Promise<FakeCluster> {
  const cluster = createFakeCluster()
  cluster.put('nodes', rawNode('node-a', 'zone-1'))
  cluster.put('services', rawService(service))
  for (const pod of pods) cluster.put('pods', pod)
  await reconcile(cluster, { controller })
  return cluster
}

function slices(cluster: FakeCluster): readonly JsonObject[] {
  return cluster.all('endpointslices')
}

function conditions(cluster: FakeCluster): JsonObject {
  return objectAt(arrayAt(slices(cluster)[0], 'endpoints')[0], 'conditions')
}

function sizes(cluster: FakeCluster): readonly number[] {
  return slices(cluster).map((slice) => arrayAt(slice, 'endpoints').length)
}

function ascending(numbers: readonly number[]): readonly number[] {
  return numbers.toSorted((a, b) => a - b)
}

function pods(from: number, to: number, parts: PodParts = {}): readonly JsonObject[] {
  return Array.from({ length: to - from }, (_, i) => rawPod(from + i, parts))
}

test('a slice holds every field of a pod and of its Service', async () => {
  const spec = { nodeName: 'node-a', hostname: 'one', subdomain: 'web' }
  const cluster = await settled({}, rawPod(1, { spec }))
  expect(slices(cluster)).toEqual([
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: expect.stringMatching(/^web-./),
        namespace: 'shop',
        uid: expect.any(String),
        resourceVersion: expect.any(String),
        labels: {
          'kubernetes.io/service-name': 'web',
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-02T00:00:00Z' },
        ownerReferences: [
          {
            apiVersion: 'v1',
            kind: 'Service',
            name: 'web',
            uid: 'svc',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      addressType: 'IPv4',
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
      endpoints: [
        {
          addresses: ['10.0.0.1'],
          conditions: { ready: true, serving: true, terminating: false },
          hostname: 'one',
          nodeName: 'node-a',
          zone: 'zone-1',
          targetRef: { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'pod-1' },
        },
      ],
    },
  ])
})

const PUBLISH = { publishNotReadyAddresses: true }
const LEFT: PodParts = { ...LEAVING, ...NOT_READY }

test.each([
  ['ready', {}, {}, [true, true, false]],
  ['not ready', {}, NOT_READY, [false, false, false]],
  ['terminating', {}, LEAVING, [false, true, true]],
  ['terminating, not ready', {}, LEFT, [false, false, true]],
  ['published', PUBLISH, NOT_READY, [true, false, false]],
  ['published, terminating', PUBLISH, LEFT, [true, false, true]],
])('conditions of a pod: %s', async (_, service, parts, [ready, serving, terminating]) => {
  const cluster = await settled(service, rawPod(1, parts))
  expect(conditions(cluster)).toEqual({ ready, serving, terminating })
})

test.each([
  ['Succeeded', { status: { phase: 'Succeeded' } }],
  ['Failed', { status: { phase: 'Failed' } }],
  ['without an address', { status: { podIP: '', podIPs: [] } }],
])('a pod that is %s is in no slice, be it published', async (_, parts) => {
  const cluster = await settled(PUBLISH, rawPod(1, parts))
  expect(sizes(cluster)).toEqual([0])
})

test('a Service without endpoints has one empty slice, which the first endpoint fills', async () => {
  const cluster = await settled({})
  expect(sizes(cluster)).toEqual([0])
  const [empty] = slices(cluster)
  cluster.put('pods', rawPod(1))
  const name = stringAt(empty, 'metadata', 'name')
  expect(await reconcile(cluster, { controller })).toEqual([`patch endpointslices/shop/${name}`])
  expect(sizes(cluster)).toEqual([1])
})

test('two families have slices of their own, for the pods that have the address', async () => {
  const single = rawPod(2, { status: { podIPs: [{ ip: '10.0.0.2' }] } })
  const cluster = await settled({ ipFamilies: ['IPv6', 'IPv4'] }, rawPod(1), single)
  const found = slices(cluster).map((slice) => [
    slice['addressType'],
    arrayAt(slice, 'endpoints').flatMap((one) => arrayAt(one, 'addresses')),
  ])
  expect(found).toEqual([
    ['IPv6', ['fd00::1']],
    ['IPv4', ['10.0.0.1', '10.0.0.2']],
  ])
  cluster.put('services', rawService({ ipFamilies: ['IPv4'] }))
  await reconcile(cluster, { controller })
  expect(slices(cluster).map((slice) => slice['addressType'])).toEqual(['IPv4'])
})

test('what a port is called may mean another number in each pod', async () => {
  const ports = [{ name: 'http', port: 80, targetPort: 'web' }]
  const cluster = await settled(
    { ports },
    rawPod(1, namedPorts({ web: 1 })),
    rawPod(2, namedPorts({ web: 2 })),
    rawPod(3),
  )
  const found = slices(cluster).map((slice) => [arrayAt(slice, 'ports'), sizes(cluster)])
  expect(found).toEqual([
    [[{ name: 'http', protocol: 'TCP', port: 1 }], [1, 1]],
    [[{ name: 'http', protocol: 'TCP', port: 2 }], [1, 1]],
  ])
})

test('other ports are written into the slices there are', async () => {
  const cluster = await settled({}, rawPod(1))
  cluster.put('services', rawService({ ports: [{ port: 81 }] }))
  expect(await reconcile(cluster, { controller })).toEqual([expect.stringMatching(/^patch /)])
  expect(arrayAt(slices(cluster)[0], 'ports')).toEqual([{ name: '', protocol: 'TCP', port: 81 }])
})

test('a slice holds a hundred endpoints, and one endpoint more or less costs one write', async () => {
  const cluster = await settled({}, ...pods(0, 250))
  expect(sizes(cluster)).toEqual([100, 100, 50])
  cluster.put('pods', rawPod(250))
  expect(await reconcile(cluster, { controller })).toEqual([expect.stringMatching(/^patch /)])
  expect(ascending(sizes(cluster))).toEqual([51, 100, 100])
  cluster.remove('pods', 'shop/web-0')
  expect(await reconcile(cluster, { controller })).toEqual([expect.stringMatching(/^patch /)])
  expect(ascending(sizes(cluster))).toEqual([51, 99, 100])
})

test('new endpoints fill the slice that is written anyway, or the fullest one with space for them', async () => {
  const cluster = await settled({}, ...pods(0, 250))
  cluster.remove('pods', 'shop/web-0')
  cluster.put('pods', rawPod(300))
  expect(await reconcile(cluster, { controller })).toHaveLength(1)
  expect(ascending(sizes(cluster))).toEqual([50, 100, 100])
  for (const pod of pods(400, 460)) cluster.put('pods', pod)
  expect(await reconcile(cluster, { controller })).toEqual([expect.stringMatching(/^create /)])
  expect(ascending(sizes(cluster))).toEqual([50, 60, 100, 100])
})

test('an emptied slice is reused in place of a new one, else deleted', async () => {
  const cluster = await settled({}, ...pods(0, 150))
  for (const pod of pods(0, 150))
    cluster.remove('pods', `shop/${stringAt(pod, 'metadata', 'name')}`)
  for (const pod of pods(200, 250)) cluster.put('pods', pod)
  expect((await reconcile(cluster, { controller })).map((one) => one.split(' ')[0])).toEqual([
    'patch',
    'delete',
  ])
  expect(sizes(cluster)).toEqual([50])
})

test('an endpoint that is in two slices is removed from one of them', async () => {
  const cluster = await settled({}, rawPod(1))
  cluster.put('endpointslices', relabelled(slices(cluster)[0] ?? {}, { name: 'web-zzz', uid: 'z' }))
  expect(await reconcile(cluster, { controller })).toEqual(['delete endpointslices/shop/web-zzz'])
})

test('a slice with more than a hundred endpoints keeps a hundred', async () => {
  const cluster = await settled({}, ...pods(0, 150))
  const [full = {}, other = {}] = slices(cluster)
  const endpoints = slices(cluster).flatMap((slice) => arrayAt(slice, 'endpoints'))
  cluster.put('endpointslices', { ...relabelled(full, {}), endpoints })
  cluster.remove('endpointslices', `shop/${stringAt(other, 'metadata', 'name')}`)
  await reconcile(cluster, { controller })
  expect(sizes(cluster)).toEqual([100, 50])
})

test.each([
  ['endpoints', { endpoints: [{ addresses: ['6.6.6.6'] }] }],
  ['ports', { ports: [{ port: 6 }] }],
  ['owners', { owners: [] }],
  ['labels', { evil: 'x' }],
])('tampered %s are put right', async (what, change) => {
  const cluster = await settled({}, rawPod(1))
  const [sound = {}] = slices(cluster)
  const labels = objectAt(sound, 'metadata', 'labels')
  const metadata = {
    ...(what === 'owners' ? { ownerReferences: [] } : {}),
    ...(what === 'labels' ? { labels: { ...labels, ...(change as JsonObject) } } : {}),
  }
  const parts = what === 'endpoints' || what === 'ports' ? (change as JsonObject) : {}
  cluster.put('endpointslices', { ...relabelled(sound, metadata), ...parts })
  expect(await reconcile(cluster, { controller })).toEqual([expect.stringMatching(/^patch /)])
  const { metadata: _, ...rest } = slices(cluster)[0] ?? {}
  const { metadata: _before, ...before } = sound
  expect(rest).toEqual(before)
  expect(objectAt(slices(cluster)[0], 'metadata', 'labels')).toEqual(labels)
  expect(await reconcile(cluster, { controller })).toEqual([])
})

test('a slice that is being deleted is left alone, and replaced', async () => {
  const cluster = await settled({}, rawPod(1))
  const [slice] = slices(cluster)
  const leaving = { finalizers: ['x'], ...LEAVING.metadata }
  cluster.put('endpointslices', relabelled(slice!, leaving))
  expect(await reconcile(cluster, { controller })).toEqual(['create endpointslices/shop/'])
  expect(await reconcile(cluster, { controller })).toEqual([])
  cluster.remove('services', 'shop/web')
  expect(await reconcile(cluster, { controller })).toHaveLength(1)
})

test('a Service that is being deleted gets no new slices, for which its deletion would wait', async () => {
  const cluster = await settled({}, rawPod(1))
  const leaving = { finalizers: ['foregroundDeletion'], ...LEAVING.metadata }
  cluster.put('services', rawService({}, leaving))
  cluster.put('pods', rawPod(2))
  expect(await reconcile(cluster, { controller })).toHaveLength(1)
  expect(sizes(cluster)).toEqual([2])
  cluster.remove('endpointslices', `shop/${stringAt(slices(cluster)[0], 'metadata', 'name')}`)
  expect(await reconcile(cluster, { controller })).toEqual([])
})

test('slices of other programs stay as they are', async () => {
  const cluster = await settled({})
  const labels = { 'kubernetes.io/service-name': 'web' }
  cluster.put('endpointslices', { metadata: { name: 'mine', namespace: 'shop', labels } })
  expect(await reconcile(cluster, { controller })).toEqual([])
  cluster.remove('services', 'shop/web')
  await reconcile(cluster, { controller })
  expect(slices(cluster).map((slice) => stringAt(slice, 'metadata', 'name'))).toEqual(['mine'])
})

test.each([
  ['gone', undefined],
  ['without a selector', { selector: {} }],
  ['a name only', { type: 'ExternalName' }],
])('a Service that is %s has no slices', async (_, service) => {
  const cluster = await settled({}, rawPod(1))
  if (service === undefined) cluster.remove('services', 'shop/web')
  else cluster.put('services', rawService(service))
  await reconcile(cluster, { controller })
  expect(slices(cluster)).toEqual([])
})

test('slices of a headless Service have the headless label', async () => {
  const cluster = await settled({ clusterIP: 'None' })
  expect(objectAt(slices(cluster)[0], 'metadata', 'labels')).toMatchObject({
    'service.kubernetes.io/headless': '',
  })
})

test('the trigger time is that of what changed in this slice', async () => {
  const TIME = 'endpoints.kubernetes.io/last-change-trigger-time'
  const old = { status: { conditions: [readyCondition(true, '2020-01-01T00:00:00Z')] } }
  const cluster = await settled({}, rawPod(1, old))
  const time = (): unknown => objectAt(slices(cluster)[0], 'metadata', 'annotations')[TIME]
  expect(time()).toBe(BORN)
  const later = '2026-03-01T00:00:00Z'
  cluster.put('pods', rawPod(2, { status: { conditions: [readyCondition(true, later)] } }))
  await reconcile(cluster, { controller })
  expect(time()).toBe(later)
})

test('the deletion of a Pod, Node or slice affects its Services, and an event without a change none', async () => {
  const cluster = await settled({}, rawPod(1))
  const { pods, nodes, endpointslices } = controller.watches
  const [pod, node] = [cluster.view.pods.get('shop/web-1'), cluster.view.nodes.get('node-a')]
  const [slice] = cluster.view.endpointslices.values()
  const gone = <T>(before: T) => ({ key: '', before, after: undefined })
  expect([...(pods?.(gone(pod), cluster.view) ?? [])]).toEqual(['shop/web'])
  expect([...(pods?.({ key: '', before: pod, after: pod }, cluster.view) ?? [])]).toEqual([])
  expect([...(nodes?.({ ...gone(node), key: 'node-a' }, cluster.view) ?? [])]).toEqual(['shop/web'])
  expect([...(nodes?.({ key: 'node-a', before: node, after: node }, cluster.view) ?? [])]).toEqual(
    [],
  )
  expect([...(endpointslices?.(gone(slice), cluster.view) ?? [])]).toEqual(['shop/web'])
})
