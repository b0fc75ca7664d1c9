import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, scalarText } from '../../lib/json.ts'
import { createFakeCluster, type FakeCluster } from '../testing/fake-cluster.ts'
import { LEAVING, rawEndpoints, rawService } from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { mirroringController as controller } from './mirroring-controller.ts'

const PORTS = [{ name: 'http', protocol: 'TCP', port: 80 }]
const ONE = { addresses: [{ ip: '192.0.2.1' }], ports: PORTS }

async function settled(subsets: JsonObject[], metadata: JsonObject = {}): Promise<FakeCluster> {
  const cluster = createFakeCluster()
  cluster.put('services', rawService({ selector: {} }))
  cluster.put('endpoints', rawEndpoints(subsets, metadata))
  await reconcile(cluster, { controller })
  return cluster
}

/** `IPv4 80: 192.0.2.1 !192.0.2.2` for each slice. */
function outline(cluster: FakeCluster): readonly string[] {
  return cluster.all('endpointslices').map((slice) => {
    const ports = arrayAt(slice, 'ports').map((port) => scalarText(objectAt(port)['port']))
    const endpoints = arrayAt(slice, 'endpoints').map((one) => {
      const ready = objectAt(one, 'conditions')['ready'] === true
      return `${ready ? '' : '!'}${arrayAt(one, 'addresses').map(scalarText).join()}`
    })
    return `${scalarText(slice['addressType'])} ${ports.join()}: ${endpoints.join(' ')}`
  })
}

test.each<[string, JsonObject[], readonly string[]]>([
  ['one address', [ONE], ['IPv4 80: 192.0.2.1']],
  ['nothing', [], []],
  [
    'not ready',
    [{ notReadyAddresses: [{ ip: '192.0.2.1' }], ports: PORTS }],
    ['IPv4 80: !192.0.2.1'],
  ],
  ['no address', [{ addresses: [{ ip: 'x' }], ports: PORTS }], []],
  [
    'one address in two forms',
    [{ addresses: [{ ip: '192.0.2.001' }, { ip: '192.0.2.1' }], ports: PORTS }],
    ['IPv4 80: 192.0.2.1'],
  ],
  ['no ports', [{ addresses: [{ ip: '192.0.2.1' }] }], ['IPv4 : 192.0.2.1']],
  [
    'both families',
    [{ addresses: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::1' }], ports: PORTS }],
    ['IPv4 80: 192.0.2.1', 'IPv6 80: 2001:db8::1'],
  ],
  [
    'subsets with the same ports; ready in one of them',
    [{ notReadyAddresses: [{ ip: '192.0.2.1' }], ports: PORTS }, ONE],
    ['IPv4 80: 192.0.2.1'],
  ],
  [
    'the same, the other way round',
    [ONE, { notReadyAddresses: [{ ip: '192.0.2.1' }], ports: PORTS }],
    ['IPv4 80: 192.0.2.1'],
  ],
  [
    'other ports',
    [ONE, { addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 81 }] }],
    ['IPv4 80: 192.0.2.1', 'IPv4 81: 192.0.2.1'],
  ],
])('%s', async (_, subsets, expected) => {
  const cluster = await settled(subsets)
  expect(outline(cluster)).toEqual(expected)
  expect(await reconcile(cluster, { controller })).toEqual([])
})

test('labels and annotations are copied, except what is said of the Endpoints alone', async () => {
  const annotations = {
    mine: 'yes',
    'kubectl.kubernetes.io/last-applied-configuration': '{}',
    'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
  }
  const cluster = await settled([ONE], { labels: { team: 'a' }, annotations })
  const metadata = (): JsonObject => objectAt(cluster.all('endpointslices')[0], 'metadata')
  expect(metadata()).toMatchObject({
    annotations: { mine: 'yes' },
    labels: {
      team: 'a',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    },
    ownerReferences: [{ kind: 'Endpoints', name: 'web', uid: 'eps' }],
  })
  expect(Object.keys(objectAt(metadata(), 'annotations'))).toEqual(['mine'])
  cluster.put('endpoints', rawEndpoints([ONE], { labels: {}, annotations: {} }))
  expect(await reconcile(cluster, { controller })).toHaveLength(1)
  expect(objectAt(metadata(), 'annotations')).toEqual({})
  expect(objectAt(metadata(), 'labels')).not.toHaveProperty('team')
})

test('a thousand addresses of a subset, the ready ones first, and a word about the rest', async () => {
  const addresses = Array.from({ length: 1000 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` }))
  const most = { addresses, notReadyAddresses: [{ ip: '192.0.2.9' }], ports: PORTS }
  const cluster = await settled([most])
  const [slice, ...others] = cluster.all('endpointslices')
  expect(others).toEqual([])
  expect(arrayAt(slice, 'endpoints')).toHaveLength(1000)
  expect(objectAt(slice, 'metadata', 'annotations')).toEqual({
    'endpoints.kubernetes.io/over-capacity': 'truncated',
  })
})

test.each<[string, JsonObject]>([
  ['a lock', { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }],
  ['labelled skip-mirror', { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }],
])('Endpoints that are %s are not shown', async (_, metadata) => {
  const cluster = await settled([ONE], metadata)
  expect(outline(cluster)).toEqual([])
})

test('Endpoints that are being deleted get no new slices, or they would never go', async () => {
  const cluster = await settled([ONE], LEAVING.metadata)
  expect(outline(cluster)).toEqual([])
})

test.each<[string, (cluster: FakeCluster) => void]>([
  ['the Service is gone', (cluster) => cluster.remove('services', 'shop/web')],
  ['the Endpoints are gone', (cluster) => cluster.remove('endpoints', 'shop/web')],
  ['the Service selects', (cluster) => cluster.put('services', rawService())],
  [
    'it is a name only',
    (cluster) => cluster.put('services', rawService({ selector: {}, type: 'ExternalName' })),
  ],
])('the slices go when %s', async (_, change) => {
  const cluster = await settled([ONE])
  change(cluster)
  await reconcile(cluster, { controller })
  expect(outline(cluster)).toEqual([])
})
