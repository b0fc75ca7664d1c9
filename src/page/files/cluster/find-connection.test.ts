import { describe, expect, test } from 'vitest'
import type { ClusterApi, PodObject } from '../data/cluster-api.ts'
import { findConnection, parseEnd, type WantedConnection } from './find-connection.ts'

const { signal } = new AbortController()
const NODES = [
  { metadata: { name: 'n1' }, status: { addresses: [{ address: '192.0.2.1' }] } },
  { metadata: { name: 'n2' }, status: { addresses: [{ address: '192.0.2.2' }] } },
]

function pod(name: string, spec: PodObject['spec'], status: PodObject['status'] = {}): PodObject {
  return { metadata: { name, namespace: 'shop' }, ...(spec ? { spec } : {}), status }
}

const TWO = { podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.2' }, { ip: 'fd00::2' }] }
const PODS = [
  pod('web', { nodeName: 'n2' }, { phase: 'Running', ...TWO }),
  pod('old', { nodeName: 'n1' }, { phase: 'Succeeded', ...TWO }),
  pod('host', { nodeName: 'n1', hostNetwork: true }, { podIP: '192.0.2.1' }),
  pod('waiting', {}),
  pod('starting', { nodeName: 'n1' }),
]

const API: Pick<ClusterApi, 'pod' | 'podsAt'> = {
  pod: async (namespace, name) => {
    const found = PODS.find(({ metadata }) => metadata.name === name)
    if (found === undefined || namespace !== 'shop') throw new Error(`pods "${name}" not found`)
    return found
  },
  podsAt: async (ip) =>
    PODS.filter(({ status }) => status?.podIP === ip).toSorted((a, b) =>
      a.metadata.name < b.metadata.name ? -1 : 1,
    ),
}

function find(wanted: Partial<WantedConnection>) {
  const all = { source: 'node', destination: 'shop/web:http', node: '', protocol: 'tcp' }
  return findConnection(API as ClusterApi, { ...all, inInterface: '', ...wanted }, NODES, signal)
}

describe('the node is found by', () => {
  test.each<readonly [Partial<WantedConnection>, string, string, string]>([
    [{ source: 'pod/shop/web' }, 'n2', '10.0.0.2', 'shop/web:http'],
    [{ source: 'pod/shop/web', destination: '[fd00::9]:80' }, 'n2', 'fd00::2', '[fd00::9]:80'],
    [{ source: 'pod/shop/host' }, 'n1', 'node', 'shop/web:http'],
    // A Pod that has ended had the address, too.
    [{ source: '10.0.0.2' }, 'n2', '10.0.0.2', 'shop/web:http'],
    [{ source: '192.0.2.1' }, 'n1', '192.0.2.1', 'shop/web:http'],
    [{ source: '192.0.2.2' }, 'n2', '192.0.2.2', 'shop/web:http'],
    [{ source: 'node/n1' }, 'n1', 'node', 'shop/web:http'],
    [{ source: 'node', node: 'n2' }, 'n2', 'node', 'shop/web:http'],
    [{ source: '203.0.113.5', node: 'n1' }, 'n1', '203.0.113.5', 'shop/web:http'],
    [{ source: 'pod/shop/web', node: 'n1' }, 'n1', '10.0.0.2', 'shop/web:http'],
    [{ source: 'node/n1', destination: 'svc/a/b:80' }, 'n1', 'node', 'a/b:80'],
    [{ source: 'node/n1', destination: 'pod/shop/web:8080' }, 'n1', 'node', '10.0.0.2:8080'],
  ])('%j', async (wanted, node, source, destination) => {
    expect(await find(wanted)).toMatchObject({
      node,
      query: { source, destination, protocol: 'tcp', inInterface: '' },
    })
  })
})

test.each<readonly [Partial<WantedConnection>, RegExp]>([
  [{ source: '203.0.113.5' }, /choose the node on which/],
  [{ source: 'node' }, /does not say which/],
  [{ source: 'shop/web' }, /write pod\/NAMESPACE\/NAME/],
  [{ source: 'pod/shop/waiting' }, /pod\/shop\/waiting runs on no node yet/],
  [{ source: 'pod/shop/starting' }, /"starting" has no address yet/],
  [{ source: 'pod/web' }, /pods "web" not found/],
  [{ destination: 'pod/shop/web', source: 'node/n1' }, /has no port/],
])('%j is refused with what to do', async (wanted, why) => {
  await expect(find(wanted)).rejects.toThrow(why)
})

test.each([
  ['fd00::1', { kind: 'address', ip: 'fd00::1' }],
  ['::ffff:10.0.0.1', { kind: 'address', ip: '::ffff:10.0.0.1' }],
  ['10.0.0', { kind: 'other', text: '10.0.0' }],
  ['pod/a/b/c', { kind: 'other', text: 'pod/a/b/c' }],
  ['pod/b', { kind: 'pod', namespace: 'default', name: 'b', port: '' }],
])('%s', (text, end) => {
  expect(parseEnd(text)).toEqual(end)
})
