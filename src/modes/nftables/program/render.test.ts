import { expect, test } from 'vitest'
import type { EntryId, Frontend } from '../../../forwarding/entry.ts'
import { backend, cidr, entry, frontend, ip, settings } from '../../testing/mode-fixtures.ts'
import { showEntry as showWith } from '../testing/show-program.ts'

const showEntry = (one: Parameters<typeof showWith>[0], given = settings()) => showWith(one, given)

const COMMENT = 'comment "shop/cart:http/TCP/4"'
const external = frontend({ kind: 'externalIP', ip: ip('1.2.3.4'), masquerade: 'always' })
const local: Partial<Frontend> = { pool: 'local', shortCircuit: true, masquerade: 'onNode' }
const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080, masquerade: 'always' })
const onePool = { cluster: [backend('10.180.0.1')], local: [backend('10.180.0.1')] }
const noBackend = { cluster: [], local: [] }

function elementsAt(one: Frontend, parts: Partial<Parameters<typeof entry>[0]> = {}) {
  return showEntry(entry({ frontends: [one], pools: onePool, ...parts })).elements
}

test('a ClusterIP is one verdict and one element for each endpoint', () => {
  expect(showEntry(entry())).toEqual({
    elements: [
      `services 172.30.0.41 . tcp . 80 ${COMMENT} : goto choose-2-off-cluster`,
      'endpoints 172.30.0.41 . tcp . 80 . 0 : 10.180.0.1 . 8080',
      'endpoints 172.30.0.41 . tcp . 80 . 1 : 10.180.0.2 . 8080',
    ],
    sets: {},
    chains: {},
    choices: ['choose-2-off-cluster'],
  })
})

test.each([
  ['masqueradeAll', settings({ masqueradeAll: true }), 'choose-2-masquerade'],
  ['no pods are known', settings({ localTraffic: { by: 'none' } }), 'choose-2'],
  ['pods of the other family', settings({ localTraffic: pods('fd00::/8') }), 'choose-2'],
  ['every source is a pod', settings({ localTraffic: pods('0.0.0.0/0') }), 'choose-2'],
  ['pods by interface', settings({ localTraffic: bridge() }), 'choose-2-off-cluster'],
])('whose packets to a ClusterIP are masqueraded: %s', (_what, given, chain) => {
  expect(showEntry(entry(), given).choices).toEqual([chain])
})

function pods(network: string) {
  return { by: 'source', cidrs: [cidr(network)] } as const
}

function bridge() {
  return { by: 'bridge', name: 'cbr0' } as const
}

test('external traffic under policy Cluster is always masqueraded', () => {
  expect(elementsAt(external)).toEqual([
    `services 1.2.3.4 . tcp . 80 ${COMMENT} : goto choose-1-masquerade`,
    'endpoints 1.2.3.4 . tcp . 80 . 2000000 : 10.180.0.1 . 8080',
  ])
  expect(elementsAt(nodePort)).toEqual([
    `node-ports tcp . 30080 ${COMMENT} : goto node-port-choose-1-masquerade`,
    'node-port-endpoints tcp . 30080 . 2000000 : 10.180.0.1 . 8080',
  ])
})

test('policy Local: pods and the node take all backends, others the local ones', () => {
  const pools = { cluster: [backend('10.180.0.1'), backend('10.180.0.2')], local: onePool.local }
  expect(elementsAt({ ...external, ...local }, { pools })).toEqual([
    `inside-services 1.2.3.4 . tcp . 80 ${COMMENT} : goto inside-choose-2-on-node`,
    'inside-endpoints 1.2.3.4 . tcp . 80 . 0 : 10.180.0.1 . 8080',
    'inside-endpoints 1.2.3.4 . tcp . 80 . 1 : 10.180.0.2 . 8080',
    `services 1.2.3.4 . tcp . 80 ${COMMENT} : goto choose-1`,
    'endpoints 1.2.3.4 . tcp . 80 . 1000000 : 10.180.0.1 . 8080',
  ])
  expect(elementsAt({ ...nodePort, ...local })).toEqual([
    `inside-node-ports tcp . 30080 ${COMMENT} : goto inside-node-port-choose-1-on-node`,
    'inside-node-port-endpoints tcp . 30080 . 0 : 10.180.0.1 . 8080',
    `node-ports tcp . 30080 ${COMMENT} : goto node-port-choose-1`,
    'node-port-endpoints tcp . 30080 . 1000000 : 10.180.0.1 . 8080',
  ])
})

test('where every source is a pod, none is masqueraded on its way to all backends', () => {
  const one = entry({ frontends: [{ ...external, ...local }], pools: onePool })
  const given = settings({ localTraffic: pods('0.0.0.0/0') })
  expect(showEntry(one, given).choices).toEqual(['inside-choose-1', 'choose-1'])
})

test('policy Local without a local backend still serves pods and the node', () => {
  expect(elementsAt({ ...external, ...local }, { pools: { ...onePool, local: [] } })).toEqual([
    `inside-services 1.2.3.4 . tcp . 80 ${COMMENT} : goto inside-choose-1-on-node`,
    'inside-endpoints 1.2.3.4 . tcp . 80 . 0 : 10.180.0.1 . 8080',
    `no-endpoints 1.2.3.4 . tcp . 80 ${COMMENT} : drop`,
    `services 1.2.3.4 . tcp . 80 ${COMMENT} : return`,
  ])
})

test('an empty pool answers as the entry says; its address is not left to a node port', () => {
  expect(elementsAt(external, { pools: noBackend })).toEqual([
    `no-endpoints 1.2.3.4 . tcp . 80 ${COMMENT} : goto rejected`,
    `services 1.2.3.4 . tcp . 80 ${COMMENT} : return`,
  ])
  expect(elementsAt({ ...external, pool: 'local' }, { pools: noBackend })).toContain(
    `no-endpoints 1.2.3.4 . tcp . 80 ${COMMENT} : drop`,
  )
  expect(elementsAt(nodePort, { pools: noBackend })).toEqual([
    `no-endpoint-node-ports tcp . 30080 ${COMMENT} : goto rejected`,
  ])
})

test('backends of weight 0 get nothing; alone they are an empty pool', () => {
  const asleep = backend('10.180.0.9', { weight: 0 })
  const pools = { cluster: [asleep, backend('10.180.0.1')], local: [] }
  expect(elementsAt(external, { pools })).toContain(
    'endpoints 1.2.3.4 . tcp . 80 . 2000000 : 10.180.0.1 . 8080',
  )
  expect(elementsAt(external, { pools: { cluster: [asleep], local: [] } })).toEqual(
    elementsAt(external, { pools: noBackend }),
  )
})

test('weights are elements', () => {
  const cluster = [backend('10.180.0.1', { weight: 4 }), backend('10.180.0.2', { weight: 2 })]
  expect(elementsAt(external, { pools: { cluster, local: [] } })).toEqual([
    `services 1.2.3.4 . tcp . 80 ${COMMENT} : goto choose-3-masquerade`,
    'endpoints 1.2.3.4 . tcp . 80 . 2000000 : 10.180.0.1 . 8080',
    'endpoints 1.2.3.4 . tcp . 80 . 2000001 : 10.180.0.1 . 8080',
    'endpoints 1.2.3.4 . tcp . 80 . 2000002 : 10.180.0.2 . 8080',
  ])
})

test('a draining backend gets nothing', () => {
  const draining = [{ ...backend('10.180.0.9'), until: 1 }]
  expect(elementsAt(external, { draining })).toEqual(elementsAt(external))
})

test('source ranges: disjoint ranges of the family; others are dropped, also without a backend', () => {
  const ranges = ['192.0.2.0/24', '192.0.2.7/32', '198.51.100.128/25', '2001:db8::/32'].map(cidr)
  const limited = { ...external, sourceRanges: ranges }
  const expected = [
    'limited-services 1.2.3.4 . tcp . 80',
    'source-ranges 1.2.3.4 . tcp . 80 . 192.0.2.0-192.0.2.255',
    'source-ranges 1.2.3.4 . tcp . 80 . 198.51.100.128-198.51.100.255',
  ]
  expect(elementsAt(limited).slice(2)).toEqual(expected)
  expect(elementsAt(limited, { pools: noBackend }).slice(2)).toEqual(expected)
})

test('ranges of the other family alone admit no client; one of length 0 admits everyone', () => {
  const other = { ...external, sourceRanges: [cidr('2001:db8::/32')] }
  expect(elementsAt(other).slice(2)).toEqual(['limited-services 1.2.3.4 . tcp . 80'])
  const none = { ...external, sourceRanges: [] }
  expect(elementsAt(none).slice(2)).toEqual(['limited-services 1.2.3.4 . tcp . 80'])
  const every = { ...external, sourceRanges: [cidr('192.0.2.0/24'), cidr('0.0.0.0/0')] }
  expect(elementsAt(every)).toEqual(elementsAt(external))
})

test('IPv6 and SCTP', () => {
  const one = entry({
    id: 'shop/cart:http/SCTP/6' as EntryId,
    family: 6,
    protocol: 'SCTP',
    frontends: [frontend({ ip: ip('fd00:30::41'), sourceRanges: [cidr('2001:db8::/32')] })],
    pools: { cluster: [backend('fd00:180::1')], local: [] },
  })
  expect(showEntry(one).elements).toEqual([
    'services fd00:30::41 . sctp . 80 comment "shop/cart:http/SCTP/6" : goto choose-1-off-cluster',
    'endpoints fd00:30::41 . sctp . 80 . 0 : fd00:180::1 . 8080',
    'limited-services fd00:30::41 . sctp . 80',
    'source-ranges fd00:30::41 . sctp . 80 . 2001:db8::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
  ])
})

test('5,000 endpoints are 5,000 elements for each frontend, and one verdict', () => {
  const cluster = Array.from({ length: 5_000 }, (_, n) => backend(`10.180.${n >> 8}.${n & 255}`))
  const frontends = [frontend(), external, nodePort]
  const { elements } = showEntry(entry({ frontends, pools: { cluster, local: [] } }))
  expect(elements).toHaveLength(3 * 5_001)
})

test('each frontend is in a set that counts each direction, when that is configured', () => {
  const counted = (one: Frontend) =>
    showEntry(entry({ frontends: [one] }), settings({ countsTraffic: true })).elements.filter(
      (element) => element.includes('traffic'),
    )
  const place = '172.30.0.41 . tcp . 80'
  expect(counted(frontend({}))).toEqual([`traffic-in ${place}`, `traffic-out ${place}`])
  expect(counted(nodePort)).toEqual([
    'node-port-traffic-in tcp . 30080',
    'node-port-traffic-out tcp . 30080',
  ])
  expect(elementsAt(nodePort).filter((element) => element.includes('traffic'))).toEqual([])
})
