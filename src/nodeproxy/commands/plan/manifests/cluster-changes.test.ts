import { expect, test } from 'vitest'
import { ClusterStore } from '../../../../cluster/cluster-store.ts'
import { changesOf, deletionOf } from './cluster-changes.ts'
import { parseManifests, readManifests } from './read-manifests.ts'

const SERVICE = `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  type: NodePort
  clusterIP: 10.96.0.1
  ports: [{ port: 80, nodePort: 30080 }]
`

function changes(text: string, stored = '') {
  const store = new ClusterStore()
  store.apply(changesOf(parseManifests('stored.yaml', stored), store).events)
  return changesOf(parseManifests('web.yaml', text), store)
}

test('a Service keeps what the API server allocated where its manifest leaves it out', () => {
  const bare = SERVICE.replace('  clusterIP: 10.96.0.1\n', '').replace(', nodePort: 30080', '')
  const { events, notes } = changes(bare, SERVICE)
  expect(notes).toEqual([])
  expect(events).toMatchObject([
    {
      ...{ kind: 'service', key: 'shop/web' },
      value: { clusterIPs: ['10.96.0.1'], ports: [{ port: 80, nodePort: 30_080 }] },
    },
  ])
})

test('a Service that becomes headless or a ClusterIP loses them', () => {
  const headless = SERVICE.replace('10.96.0.1', 'None')
  expect(changes(headless, SERVICE).events).toMatchObject([{ value: { clusterIPs: [] } }])
  const inside = SERVICE.replace('NodePort', 'ClusterIP').replace(', nodePort: 30080', '')
  expect(changes(inside, SERVICE).events).toMatchObject([{ value: { ports: [{ nodePort: 0 }] } }])
})

test('of a new Service without an address a note says what plan cannot know', () => {
  const { notes } = changes(SERVICE.replace('  clusterIP: 10.96.0.1\n', ''))
  expect(notes).toEqual([expect.stringContaining('Service shop/web is new and names no clusterIP')])
})

test('lists and several documents are read, and the namespace is default unless given', () => {
  const slice = {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    ...{ endpoints: [{ addresses: ['10.1.0.1'] }], ports: [{ port: 80 }] },
  }
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [slice] })
  const { events } = changes(`---\n${SERVICE}---\n---\n${list}\n`)
  expect(events).toMatchObject([
    { kind: 'service', key: 'shop/web' },
    { kind: 'endpoints', name: 'default/web-1', value: { service: 'default/web' } },
  ])
})

test.each([
  ['kind: Pod', 'has an object of kind "Pod"; plan knows Service, EndpointSlice, Endpoints'],
  ['kind: Service', 'has a Service that is wrong: metadata.name'],
  ['- a', 'has a document that is no object'],
  ['a: b: c', 'is not YAML'],
])('%j is refused', (text, message) => {
  expect(() => changes(text)).toThrow(`--filename "web.yaml" ${message}`)
})

test('a file that is not there is refused', async () => {
  await expect(readManifests(['/nonexistent'])).rejects.toThrow(
    '--filename "/nonexistent" cannot be read: ENOENT',
  )
})

test.each([
  ['service/shop/web', { kind: 'service', key: 'shop/web', value: undefined }],
  ['EndpointSlice/shop/web-1', { kind: 'endpoints', name: 'shop/web-1', value: undefined }],
  ['endpoints/shop/web', { kind: 'endpoints', name: 'shop/web', value: undefined }],
  ['pod/shop/web', undefined],
  ['service/web', undefined],
])('--delete %s', (text, event) => {
  expect(deletionOf(text)).toEqual(event)
})
