import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, scalarText, stringAt } from '../../lib/json.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import {
  BORN,
  LEAVING,
  NOT_READY,
  namedPorts,
  type PodParts,
  rawEndpoints,
  rawPod,
  rawService,
  readyCondition,
} from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { endpointsController as controller } from './endpoints-controller.ts'

const MANAGED = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }

interface Scene {
  readonly service?: JsonObject
  readonly labels?: JsonObject
  readonly pods?: readonly JsonObject[]
}

/** A cluster in which the controller has reconciled the Service `shop/web`. */
async function reconciled(scene: Scene): Promise<FakeCluster> {
  const cluster = createFakeCluster()
  cluster.put('services', rawService(scene.service, { labels: scene.labels ?? {} }))
  for (const pod of scene.pods ?? []) cluster.put('pods', pod)
  await reconcile(cluster, { controller })
  return cluster
}

/**
 * `10.0.0.1,10.0.0.2 !10.0.0.3 :http=8080/TCP` for each subset: ready addresses, others, ports. Undefined
 * without an Endpoints object.
 */
function subsetTexts(cluster: FakeCluster): readonly string[] | undefined {
  const object = cluster.get('endpoints', 'shop/web')
  const list = (subset: unknown, name: string): string =>
    arrayAt(subset as JsonObject, name)
      .map((one) => stringAt(one, 'ip'))
      .join()
  return (
    object &&
    arrayAt(object, 'subsets').map((subset) => {
      const ports = arrayAt(subset, 'ports').map((port) => {
        const { name, port: number, protocol } = port as JsonObject
        return `${scalarText(name)}=${scalarText(number)}/${scalarText(protocol)}`
      })
      return `${list(subset, 'addresses')} !${list(subset, 'notReadyAddresses')} :${ports.join()}`
    })
  )
}

const HEADLESS = { clusterIP: 'None' }
const PUBLISH = { publishNotReadyAddresses: true }
const FINISHED: PodParts = { status: { phase: 'Succeeded' } }
const FAILED: PodParts = { status: { phase: 'Failed', conditions: [readyCondition(false)] } }
const NAMED = { ports: [{ name: 'http', port: 80, targetPort: 'web' }] }
const TWO_NAMED = { ports: [...NAMED.ports, { name: 'admin', port: 81, targetPort: 'adm' }] }

const scenes: readonly (readonly [string, Scene, readonly string[] | undefined])[] = [
  ['a ready pod', { pods: [rawPod(1)] }, ['10.0.0.1 ! :http=8080/TCP']],
  ['a Service without pods', {}, []],
  ['a Service without a selector', { service: { selector: {} }, pods: [rawPod(1)] }, undefined],
  ['an ExternalName Service', { service: { type: 'ExternalName' }, pods: [rawPod(1)] }, undefined],
  ['a pod with another label', { pods: [rawPod(1, { metadata: { labels: { app: 'db' } } })] }, []],
  ['a pod of another namespace', { pods: [rawPod(1, { metadata: { namespace: 'x' } })] }, []],
  ['a pod that is not ready', { pods: [rawPod(1, NOT_READY)] }, [' !10.0.0.1 :http=8080/TCP']],
  [
    'a pod that is not ready, published',
    { service: PUBLISH, pods: [rawPod(1, NOT_READY)] },
    ['10.0.0.1 ! :http=8080/TCP'],
  ],
  ['a terminating pod', { pods: [rawPod(1, LEAVING)] }, []],
  [
    'a terminating pod, published',
    { service: PUBLISH, pods: [rawPod(1, LEAVING)] },
    ['10.0.0.1 ! :http=8080/TCP'],
  ],
  ['a Succeeded pod', { pods: [rawPod(1, FINISHED)] }, []],
  ['a Failed pod', { pods: [rawPod(1, FAILED)] }, []],
  ['a Succeeded pod, published', { service: PUBLISH, pods: [rawPod(1, FINISHED)] }, []],
  ['a Failed pod, published', { service: PUBLISH, pods: [rawPod(1, FAILED)] }, []],
  ['a pod without an address', { pods: [rawPod(1, { status: { podIP: '', podIPs: [] } })] }, []],
  [
    'a pod with podIP and no podIPs',
    { pods: [rawPod(1, { status: { podIPs: [] } })] },
    ['10.0.0.1 ! :http=8080/TCP'],
  ],
  [
    'an IPv6 Service',
    { service: { ipFamilies: ['IPv6'] }, pods: [rawPod(1)] },
    ['fd00::1 ! :http=8080/TCP'],
  ],
  [
    'a Service with two families: the first',
    { service: { ipFamilies: ['IPv6', 'IPv4'] }, pods: [rawPod(1)] },
    ['fd00::1 ! :http=8080/TCP'],
  ],
  [
    'a pod without an address of the family',
    {
      service: { ipFamilies: ['IPv6'] },
      pods: [rawPod(1, { status: { podIPs: [{ ip: '10.0.0.1' }] } })],
    },
    [],
  ],
  [
    'several pods: sorted by readiness and address',
    { pods: [rawPod(3), rawPod(1), rawPod(2, NOT_READY)] },
    ['10.0.0.1,10.0.0.3 !10.0.0.2 :http=8080/TCP'],
  ],
  [
    'a port without targetPort: the port itself',
    { service: { ports: [{ port: 80 }] }, pods: [rawPod(1)] },
    ['10.0.0.1 ! :=80/TCP'],
  ],
  [
    'a port with a named target',
    { service: NAMED, pods: [rawPod(1, namedPorts({ web: 8081 }))] },
    ['10.0.0.1 ! :http=8081/TCP'],
  ],
  ['a named target that the pod does not have', { service: NAMED, pods: [rawPod(1)] }, []],
  [
    'a named target of another protocol',
    {
      service: { ports: [{ port: 53, protocol: 'UDP', targetPort: 'web' }] },
      pods: [rawPod(1, namedPorts({ web: 53 }))],
    },
    [],
  ],
  [
    'pods with different numbers for a named target: one subset each',
    {
      service: NAMED,
      pods: [
        rawPod(1, namedPorts({ web: 1 })),
        rawPod(2, namedPorts({ web: 2 })),
        rawPod(3, namedPorts({ web: 1 })),
      ],
    },
    ['10.0.0.1,10.0.0.3 ! :http=1/TCP', '10.0.0.2 ! :http=2/TCP'],
  ],
  [
    'a pod with one of two named targets: the other port alone is missing',
    {
      service: TWO_NAMED,
      pods: [rawPod(1, namedPorts({ web: 1, adm: 2 })), rawPod(2, namedPorts({ web: 1 }))],
    },
    ['10.0.0.1 ! :admin=2/TCP,http=1/TCP', '10.0.0.2 ! :http=1/TCP'],
  ],
  [
    'a named port of a sidecar',
    {
      service: NAMED,
      pods: [
        rawPod(1, {
          spec: {
            initContainers: [
              { restartPolicy: 'Always', ports: [{ name: 'web', containerPort: 7 }] },
            ],
          },
        }),
      ],
    },
    ['10.0.0.1 ! :http=7/TCP'],
  ],
  [
    'a named port of an init container',
    {
      service: NAMED,
      pods: [
        rawPod(1, { spec: { initContainers: [{ ports: [{ name: 'web', containerPort: 7 }] }] } }),
      ],
    },
    [],
  ],
  [
    'a headless Service without ports',
    { service: { ...HEADLESS, ports: [] }, pods: [rawPod(1)] },
    ['10.0.0.1 ! :'],
  ],
  ['a Service without ports', { service: { ports: [] }, pods: [rawPod(1)] }, []],
]

test.each(scenes)(
  'subsets of %s, after which a second reconcile writes nothing',
  async (_, scene, expected) => {
    const cluster = await reconciled(scene)
    expect(subsetTexts(cluster)).toEqual(expected)
    expect(await reconcile(cluster, { controller })).toEqual([])
  },
)

test('an address has the name, node and uid of its Pod, and a hostname only for a subdomain of the Service', async () => {
  const ofService = { hostname: 'one', subdomain: 'web', nodeName: 'node-a' }
  const ofOther = { hostname: 'two', subdomain: 'db', nodeName: 'node-a' }
  const cluster = await reconciled({
    pods: [rawPod(1, { spec: ofService }), rawPod(2, { spec: ofOther })],
  })
  const [subset] = arrayAt(cluster.get('endpoints', 'shop/web'), 'subsets')
  const targetRef = { kind: 'Pod', namespace: 'shop', name: 'web-1', uid: 'pod-1' }
  const [one, two] = arrayAt(subset, 'addresses')
  expect(one).toEqual({ ip: '10.0.0.1', nodeName: 'node-a', hostname: 'one', targetRef })
  expect(two).not.toHaveProperty('hostname')
})

test.each([
  ['10.96.0.10', { team: 'a', ...MANAGED }],
  ['None', { team: 'a', 'service.kubernetes.io/headless': '', ...MANAGED }],
])(
  'labels are copied of a Service with clusterIP %s, and only its clusterIP decides on the headless label',
  async (clusterIP, labels) => {
    const [ours, theirs] = ['service.orch.io/headless', 'service.kubernetes.io/headless']
    const marked = { team: 'a', [ours]: 'x', [theirs]: 'x' }
    const cluster = await reconciled({ service: { clusterIP }, labels: marked })
    expect(objectAt(cluster.get('endpoints', 'shop/web'), 'metadata', 'labels')).toEqual(labels)
  },
)

test('appProtocol comes from the Service', async () => {
  const ports = [{ port: 80, appProtocol: 'h2c' }]
  const cluster = await reconciled({ service: { ports }, pods: [rawPod(1)] })
  const [subset] = arrayAt(cluster.get('endpoints', 'shop/web'), 'subsets')
  expect(arrayAt(subset, 'ports')).toEqual([{ port: 80, protocol: 'TCP', appProtocol: 'h2c' }])
})

test('the first thousand addresses are kept, the ready ones first, and an annotation reports that others are not', async () => {
  const pods = Array.from({ length: 1001 }, (_, i) => rawPod(i, i === 0 ? NOT_READY : {}))
  const cluster = await reconciled({ pods })
  const key = 'endpoints.kubernetes.io/over-capacity'
  const [subset] = arrayAt(cluster.get('endpoints', 'shop/web'), 'subsets')
  expect(arrayAt(subset, 'addresses')).toHaveLength(1000)
  expect(arrayAt(subset, 'notReadyAddresses')).toEqual([])
  expect(annotations(cluster)[key]).toBe('truncated')
  cluster.remove('pods', 'shop/web-0')
  await reconcile(cluster, { controller })
  expect(annotations(cluster)[key]).toBeUndefined()
})

function annotations(cluster: FakeCluster): JsonObject {
  return objectAt(cluster.get('endpoints', 'shop/web'), 'metadata', 'annotations')
}

const TIME = 'endpoints.kubernetes.io/last-change-trigger-time'

test('the trigger time is that of the earliest change since the last one, and is removed without one', async () => {
  const cluster = await reconciled({ pods: [rawPod(1)] })
  expect(annotations(cluster)[TIME]).toBe(BORN)
  const [early, late] = ['2026-02-01T00:00:01Z', '2026-02-01T00:00:02Z']
  cluster.put('pods', rawPod(1, { status: { conditions: [readyCondition(false, late)] } }))
  cluster.put('pods', rawPod(2, { status: { conditions: [readyCondition(true, early)] } }))
  await reconcile(cluster, { controller })
  expect(annotations(cluster)[TIME]).toBe(early)
  cluster.put('pods', rawPod(3, { status: { conditions: [readyCondition(true, BORN)] } }))
  await reconcile(cluster, { controller })
  expect(annotations(cluster)[TIME]).toBeUndefined()
})

test.each([
  ['subsets', { subsets: [{ addresses: [{ ip: '6.6.6.6' }], ports: [{ port: 1 }] }] }],
  ['labels', { labels: { foreign: 'x' } }],
])('%s that another client changed are reverted', async (_, change) => {
  const cluster = await reconciled({ pods: [rawPod(1)] })
  const original = { subsets: arrayAt(cluster.get('endpoints', 'shop/web'), 'subsets') }
  const { subsets, labels } = { labels: { ...MANAGED }, ...original, ...change }
  cluster.put('endpoints', rawEndpoints(subsets as JsonObject[], { labels }))
  expect(await reconcile(cluster, { controller })).toEqual(['patch endpoints/shop/web'])
  expect(subsetTexts(cluster)).toEqual(['10.0.0.1 ! :http=8080/TCP'])
  const stored = objectAt(cluster.get('endpoints', 'shop/web'), 'metadata', 'labels')
  expect(stored).toEqual(MANAGED)
})

test('annotations of other programs stay, and a resourceVersion in a targetRef makes no difference', async () => {
  const cluster = await reconciled({ pods: [rawPod(1)] })
  const before = cluster.get('endpoints', 'shop/web')
  const [subset] = arrayAt(before, 'subsets')
  const [address] = arrayAt(subset, 'addresses')
  const targetRef = { ...objectAt(address, 'targetRef'), resourceVersion: '7' }
  const addresses = [{ ...(address as JsonObject), targetRef }]
  const metadata = { labels: { ...MANAGED }, annotations: { mine: 'yes' } }
  cluster.put('endpoints', rawEndpoints([{ ...(subset as JsonObject), addresses }], metadata))
  expect(await reconcile(cluster, { controller })).toEqual([])
  cluster.put('pods', rawPod(2))
  await reconcile(cluster, { controller })
  expect(annotations(cluster)).toMatchObject({ mine: 'yes' })
})

const MINUTE = 60_000
const LOCK = { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }

test.each([
  ['of the controller', { labels: { ...MANAGED } }, 0, ['delete endpoints/shop/web']],
  ['hand-written, less than a minute old', {}, MINUTE - 1, []],
  ['hand-written, a minute old', {}, MINUTE, ['delete endpoints/shop/web']],
  ['a lock of a leader election', LOCK, MINUTE, []],
])('Endpoints without a Service, %s, are deleted or kept', async (_, metadata, age, writes) => {
  const cluster = createFakeCluster()
  cluster.put('endpoints', rawEndpoints([], metadata))
  const now = Date.parse(BORN) + age
  expect(await reconcile(cluster, { controller, now })).toEqual(writes)
})

test('Endpoints that wait for their finalizers are deleted only once', async () => {
  const cluster = createFakeCluster()
  const metadata = { labels: { ...MANAGED }, finalizers: ['x'] }
  cluster.put('endpoints', rawEndpoints([], metadata))
  expect(await reconcile(cluster, { controller })).toEqual(['delete endpoints/shop/web'])
  expect(await reconcile(cluster, { controller })).toEqual([])
})

test('hand-written Endpoints without a Service are reconciled again when they are a minute old', () => {
  const cluster = createFakeCluster()
  cluster.put('endpoints', rawEndpoints([]))
  const { againMs } = controller.reconcile('shop/web', cluster.view, Date.parse(BORN) + 1000, 0)
  expect(againMs).toBe(MINUTE - 1000)
})

test('a Service that becomes an ExternalName loses the Endpoints of the controller, but no hand-written ones', async () => {
  const cluster = await reconciled({ pods: [rawPod(1)] })
  cluster.put('services', rawService({ type: 'ExternalName' }))
  expect(await reconcile(cluster, { controller })).toEqual(['delete endpoints/shop/web'])
  cluster.put('endpoints', rawEndpoints([]))
  expect(await reconcile(cluster, { controller })).toEqual([])
})
