import { expect, test } from 'vitest'
import { ClusterStore } from '../../../cluster/cluster-store.ts'
import { parseManifests } from '../../../manifests/manifests.ts'
import { changesOf, deletionOf } from './cluster-changes.ts'

const SERVICE = `
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec:
  type: NodePort
  clusterIP: 10.96.0.1
  ports: [{ port: 80, nodePort: 30080 }]
`

function changes(text: string, stored = '', selector?: Readonly<Record<string, string>>) {
  const store = new ClusterStore()
  const selectors = new Map(selector === undefined ? [] : [['shop/web', selector]])
  const before = parseManifests({ file: 'stored.yaml', text: stored })
  store.apply(changesOf(before, { store, selectors: new Map() }).events)
  return changesOf(parseManifests({ file: 'web.yaml', text }), { store, selectors })
}

test('a Service keeps what the API server allocated where its manifest leaves it out', () => {
  const bare = SERVICE.replace('  clusterIP: 10.96.0.1\n', '').replace(', nodePort: 30080', '')
  const { events, notes } = changes(bare, SERVICE)
  expect(notes).toEqual([])
  expect(events).toMatchObject([
    {
      kind: 'service',
      key: 'shop/web',
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
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    endpoints: [{ addresses: ['10.1.0.1'] }],
    ports: [{ port: 80 }],
  }
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [slice] })
  const { events } = changes(`---\n${SERVICE}---\n---\n${list}\n`)
  expect(events).toMatchObject([
    { kind: 'service', key: 'shop/web' },
    { kind: 'endpoints', name: 'default/web-1', value: { service: 'default/web' } },
  ])
})

const SELECTED = SERVICE.replace('spec:', 'spec:\n  selector: { app: web }')
const SLICE = `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-1, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
endpoints: [{ addresses: [10.1.0.1] }]
ports: [{ name: '', port: 80 }]
`

test('another target port moves the endpoints, as controllers will move them', () => {
  const moved = SELECTED.replace('port: 80,', 'port: 80, targetPort: 8080,')
  const { events, notes } = changes(moved, SERVICE + SLICE)
  const slice = { name: 'shop/web-1', value: { groups: [{ ports: [{ port: 8080 }] }] } }
  expect([events, notes]).toMatchObject([[slice, { key: 'shop/web' }], []])
  expect(changes(SELECTED, SERVICE + SLICE).events).toMatchObject([{ key: 'shop/web' }])
})

test('a port that is new or renamed is one of the endpoints, and one that is gone is not', () => {
  const named = SELECTED.replace('port: 80, nodePort: 30080', 'name: http, port: 80')
  expect(changes(named, SERVICE + SLICE).events[0]).toMatchObject({
    value: { groups: [{ ports: [{ name: 'http', protocol: 'TCP', port: 80 }] }] },
  })
})

test('endpoints written by hand stay', () => {
  const moved = SERVICE.replace('port: 80,', 'port: 80, targetPort: 8080,')
  expect(changes(moved, SERVICE + SLICE).events).toMatchObject([{ key: 'shop/web' }])
})

test('notes say what only Pods know: named target ports, another selector', () => {
  const named = SELECTED.replace('port: 80,', 'port: 80, targetPort: http,')
  const { events, notes } = changes(named, SERVICE + SLICE, { app: 'other' })
  expect(events).toMatchObject([{ key: 'shop/web' }])
  expect(notes).toEqual([
    expect.stringMatching(
      /^the selector of Service shop\/web changes: plan cannot know which Pods/,
    ),
    expect.stringMatching(
      /^targetPort "http" of port 80 of Service shop\/web is the name of a port/,
    ),
  ])
  expect(changes(SELECTED, SERVICE + SLICE, { app: 'web' }).notes).toEqual([])
})

test('a slice that is among the manifests says itself what it becomes', () => {
  const moved = SELECTED.replace('port: 80,', 'port: 80, targetPort: 8080,')
  const { events } = changes(moved + SLICE.replace('port: 80', 'port: 9090'), SERVICE + SLICE)
  expect(events.at(-1)).toMatchObject({ value: { groups: [{ ports: [{ port: 9090 }] }] } })
})

test.each([
  ['apiVersion: v1\nkind: Pod', '2:1: an object of kind "Pod"; plan knows Service, EndpointSlice'],
  ['apiVersion: v1\nkind: constructor', '2:1: an object of kind "constructor"; plan knows Service'],
  ['apiVersion: v1\nkind: Service\nspec: {}', '1:1: metadata.name'],
])('%j is refused', (text, message) => {
  expect(() => changes(text)).toThrow(`web.yaml:${message}`)
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
