import { expect, test } from 'vitest'
import { arrayAt, type JsonObject, objectAt, scalarText } from '../../lib/json.ts'
import { clusterWith } from '../testing/cluster-with.ts'
import type { FakeCluster } from '../testing/fake-cluster.ts'
import { LEAVING, rawEndpoints, rawService } from '../testing/fixtures.ts'
import { reconcile } from '../testing/reconcile.ts'
import { mirroringController as controller } from './mirroring-controller.ts'

const PORTS = [{ name: 'http', protocol: 'TCP', port: 80 }]
const ONE = { addresses: [{ ip: '192.0.2.1' }], ports: PORTS }

/** A cluster in which the controller has mirrored the Endpoints `shop/web`. */
async function mirrored(subsets: JsonObject[], metadata: JsonObject = {}): Promise<FakeCluster> {
  const cluster = clusterWith(
    ['services', rawService({ selector: {} })],
    ['endpoints', rawEndpoints(subsets, metadata)],
  )
  await reconcile(cluster, { controller })
  return cluster
}

/** `IPv4 80: 192.0.2.1 !192.0.2.2` for each slice: type, ports, endpoints; `!` marks one that is not ready. */
function sliceTexts(cluster: FakeCluster): readonly string[] {
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
  ['no subset', [], []],
  [
    'an address that is not ready',
    [{ notReadyAddresses: [{ ip: '192.0.2.1' }], ports: PORTS }],
    ['IPv4 80: !192.0.2.1'],
  ],
  ['a text that is no address', [{ addresses: [{ ip: 'x' }], ports: PORTS }], []],
  [
    'one address twice, once with leading zeros',
    [{ addresses: [{ ip: '192.0.2.001' }, { ip: '192.0.2.1' }], ports: PORTS }],
    ['IPv4 80: 192.0.2.1'],
  ],
  ['an address without ports', [{ addresses: [{ ip: '192.0.2.1' }] }], ['IPv4 : 192.0.2.1']],
  [
    'addresses of both families',
    [{ addresses: [{ ip: '192.0.2.1' }, { ip: '2001:DB8::1' }], ports: PORTS }],
    ['IPv4 80: 192.0.2.1', 'IPv6 80: 2001:db8::1'],
  ],
  [
    'an address in two subsets with the same ports, ready in the second',
    [{ notReadyAddresses: [{ ip: '192.0.2.1' }], ports: PORTS }, ONE],
    ['IPv4 80: 192.0.2.1'],
  ],
  [
    'an address in two subsets with the same ports, ready in the first',
    [ONE, { notReadyAddresses: [{ ip: '192.0.2.1' }], ports: PORTS }],
    ['IPv4 80: 192.0.2.1'],
  ],
  [
    'an address in two subsets with different ports',
    [ONE, { addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 81 }] }],
    ['IPv4 80: 192.0.2.1', 'IPv4 81: 192.0.2.1'],
  ],
])(
  'slices of Endpoints with %s, after which a second reconcile writes nothing',
  async (_, subsets, expected) => {
    const cluster = await mirrored(subsets)
    expect(sliceTexts(cluster)).toEqual(expected)
    expect(await reconcile(cluster, { controller })).toEqual([])
  },
)

test('slices get the labels and annotations of the Endpoints, except some, and lose them with the Endpoints', async () => {
  const annotations = {
    mine: 'yes',
    'kubectl.kubernetes.io/last-applied-configuration': '{}',
    'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z',
  }
  const cluster = await mirrored([ONE], { labels: { team: 'a' }, annotations })
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

test('a thousand addresses of a subset are mirrored, and an annotation reports that others are not', async () => {
  const addresses = Array.from({ length: 1000 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` }))
  const subset = { addresses, notReadyAddresses: [{ ip: '192.0.2.9' }], ports: PORTS }
  const cluster = await mirrored([subset])
  const [slice, ...rest] = cluster.all('endpointslices')
  expect(rest).toEqual([])
  expect(arrayAt(slice, 'endpoints')).toHaveLength(1000)
  expect(objectAt(slice, 'metadata', 'annotations')).toEqual({
    'endpoints.kubernetes.io/over-capacity': 'truncated',
  })
})

test.each<[string, JsonObject]>([
  [
    'a lock of a leader election',
    { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } },
  ],
  ['labelled skip-mirror', { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }],
])('Endpoints that are %s are not mirrored', async (_, metadata) => {
  const cluster = await mirrored([ONE], metadata)
  expect(sliceTexts(cluster)).toEqual([])
})

test('Endpoints that are being deleted get no new slices, for which their deletion would wait', async () => {
  const cluster = await mirrored([ONE], LEAVING.metadata)
  expect(sliceTexts(cluster)).toEqual([])
})

test.each<[string, (cluster: FakeCluster) => void]>([
  ['the Service is gone', (cluster) => cluster.remove('services', 'shop/web')],
  ['the Endpoints are gone', (cluster) => cluster.remove('endpoints', 'shop/web')],
  ['the Service has a selector', (cluster) => cluster.put('services', rawService())],
  [
    'the Service is an ExternalName',
    (cluster) => cluster.put('services', rawService({ selector: {}, type: 'ExternalName' })),
  ],
])('the slices are deleted when %s', async (_, change) => {
  const cluster = await mirrored([ONE])
  change(cluster)
  await reconcile(cluster, { controller })
  expect(sliceTexts(cluster)).toEqual([])
})
