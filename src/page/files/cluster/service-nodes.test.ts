import { describe, expect, test } from 'vitest'
import type { BackendJson } from '../../../inspection/generated/inspection_pb.ts'
import type { EntryMessage, ServiceMessage } from '../data/node-api.ts'
import { backendSample } from '../node/services.ts'
import { nodeServiceRows, sumEntries } from '../views/service-over-nodes-detail.ts'
import { clusterServiceRows, type NodeService, readServices } from './cluster-services.ts'
import { nodeDifferences } from './node-differences.ts'
import { answered, failed } from './node-reading.ts'

const ID = 'shop/web:http/TCP/4'

function entry(ips: readonly string[], change: Partial<EntryMessage> = {}): EntryMessage {
  const backends: BackendJson[] = ips.map((ip) => ({
    ip,
    port: 80,
    weight: 1,
    inClusterPool: true,
  }))
  return { id: ID, status: 'Done', backends, ...change }
}

/** A node whose counters stood at `before`, and two seconds later at `after`. */
function node(
  name: string,
  entries: readonly EntryMessage[],
  [before, after]: readonly [number, number] = [0, 0],
): NodeService {
  const sample = (at: number, connections: number) =>
    backendSample(
      at,
      entries.flatMap(({ id, backends = [] }) =>
        backends.map(({ ip = '', port = 0 }) => ({
          entry: id,
          ip,
          port,
          traffic: { connections: `${connections}`, bytesIn: `${connections * 10}` },
        })),
      ),
    )
  return { node: name, entries, samples: [sample(0, before), sample(2_000, after)], failure: '' }
}

const UNREAD: NodeService = {
  node: 'z',
  entries: undefined,
  samples: [undefined, undefined] as const,
  failure: 'connection refused',
}

describe('sums', () => {
  test('over nodes: each backend with what all of them sent to it', () => {
    const nodes = [
      node('a', [entry(['10.0.0.1', '10.0.0.2'])], [10, 30]),
      node('b', [entry(['10.0.0.1'], { status: 'Pending' })], [100, 140]),
      UNREAD,
    ]
    const [sum] = sumEntries(readServices(nodes))
    expect(sum).toMatchObject({ status: 'Pending' })
    expect(sum?.rows).toEqual([
      expect.objectContaining({
        address: '10.0.0.1:80',
        connections: 170,
        connectionsPerSecond: 30,
        marks: [],
        bytes: 1_700,
        bytesPerSecond: 300,
        share: 0.85,
      }),
      expect.objectContaining({
        address: '10.0.0.2:80',
        connections: 30,
        connectionsPerSecond: 10,
        share: 0.15,
        marks: ['on 1 of 2 nodes'],
      }),
    ])
  })

  test('a node whose counters began anew takes nothing from the rate of the others', () => {
    const nodes = [
      node('a', [entry(['10.0.0.1'])], [0, 20]),
      node('b', [entry(['10.0.0.1'])], [900, 5]),
    ]
    expect(sumEntries(readServices(nodes))[0]?.rows[0]).toMatchObject({
      connections: 25,
      connectionsPerSecond: 10,
    })
  })

  test('ports are sorted, and a backend that drains on one node does so', () => {
    const { backends = [] } = entry(['10.0.0.1'])
    const draining = backends.map((one) => ({ ...one, drainingUntil: '5' }))
    const other = entry([], { id: 'shop/web:admin/TCP/4' })
    const nodes = [
      node('a', [entry(['10.0.0.1']), other]),
      node('b', [entry([], { backends: draining })]),
    ]
    const sums = sumEntries(readServices(nodes))
    expect(sums.map(({ entry: { id } }) => id)).toEqual([other.id, ID])
    expect(sums[1]?.rows.map(({ marks }) => marks)).toEqual([['drains']])
  })

  test('what no node counts is not known', () => {
    const samples = [undefined, undefined] as const
    const uncounted = { ...node('a', [entry(['10.0.0.1'])]), samples }
    const [sum] = sumEntries(readServices([uncounted]))
    expect(sum?.rows[0]).toMatchObject({ connections: undefined, bytes: undefined })
  })
})

describe('nodes that differ', () => {
  const most = ['a', 'b', 'c'].map((name) => node(name, [entry(['10.0.0.1', '10.0.0.2'])]))
  const textsOf = (...others: readonly NodeService[]) =>
    Object.fromEntries(nodeDifferences(readServices([...most, ...others]), false).byNode)

  test('are named, with the backends that they miss or have alone', () => {
    const other = node('d', [entry(['10.0.0.2', '10.0.0.3'])])
    expect(textsOf(other)).toEqual({
      d: ['http/TCP/4: without 10.0.0.1:80', 'http/TCP/4: only here 10.0.0.3:80'],
    })
    const many = node('d', [entry(['1', '2', '3', '4', '5'].map((last) => `10.1.0.${last}`))])
    expect(textsOf(many)['d']?.[1]).toMatch(/only here 10.1.0.1:80, .* and 2 more$/)
  })

  test('are named with their state, and with ports that they alone forward or do not', () => {
    expect(textsOf(node('d', [entry(['10.0.0.1', '10.0.0.2'], { status: 'Error' })]))).toEqual({
      d: ['http/TCP/4: Error, elsewhere Done'],
    })
    expect(textsOf(node('d', []))).toEqual({ d: ['http/TCP/4: is not forwarded'] })
    const more = node('d', [...(most[0]?.entries ?? []), entry([], { id: 'shop/web:old/TCP/4' })])
    expect(textsOf(more)).toEqual({ d: ['old/TCP/4: is forwarded, elsewhere not'] })
  })

  test('the order of backends splits no majority', () => {
    const orders = [
      [1, 2, 3],
      [2, 3, 1],
      [3, 1, 2],
      [3, 2, 1],
    ]
    const others = orders.map((lasts, at) =>
      node(`n${at}`, [entry(lasts.map((last) => `10.0.0.${last}`))]),
    )
    expect(Object.keys(textsOf(...others))).toEqual(['a', 'b', 'c'])
  })

  test('the weight of one backend is no difference of the others', () => {
    const weighted = [
      { ip: '10.0.0.1', port: 80, weight: 1, inClusterPool: true },
      { ip: '10.0.0.2', port: 80, weight: 5, inClusterPool: true },
    ]
    const draining = { ip: '10.0.0.9', port: 80, weight: 7, drainingUntil: '5' }
    const { backends = [] } = most[0]?.entries?.[0] ?? {}
    expect(textsOf(node('d', [entry([], { backends: [...backends, draining] })]))).toEqual({})
    const five = ['1', '2', '3', '4', '5']
    const others = five.map((name) => node(name, [entry([], { backends: weighted })]))
    const short = node('d', [entry(['10.0.0.1'])])
    expect(textsOf(...others, short)['d']).toEqual(['http/TCP/4: without 10.0.0.2:80×5'])
  })

  test('order, backends that drain and nodes that are not read make no difference', () => {
    const draining = { ip: '10.0.0.9', port: 80, weight: 1, drainingUntil: '5' }
    const { backends = [] } = entry(['10.0.0.2', '10.0.0.1'])
    const other = node('d', [entry([], { backends: [...backends, draining] })])
    expect(textsOf(other, UNREAD)).toEqual({})
  })

  test('disagree without a majority, and none of them is the one that differs', () => {
    const [one, two] = [entry(['10.0.0.1']), entry(['10.0.0.2'], { status: 'Pending' })]
    const nodes = [node('a', [one]), node('b', [two]), node('c', [one]), node('d', [two])]
    const { byNode, disputed } = nodeDifferences(readServices([...nodes, UNREAD]), false)
    expect(disputed).toEqual([
      'http/TCP/4: state Done on a, c; state Pending on b, d',
      'http/TCP/4: to 10.0.0.1:80 on a, c; to 10.0.0.2:80 on b, d',
    ])
    expect([...byNode.keys()].toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(byNode.get('b')).toEqual([
      'http/TCP/4: state Pending; the nodes disagree: 2 of 4 nodes have it so',
      'http/TCP/4: to 10.0.0.2:80; the nodes disagree: 2 of 4 nodes have it so',
    ])
    expect(
      nodeDifferences(readServices([node('a', [one]), node('b', [])]), false).disputed,
    ).toEqual(['http/TCP/4: forwarded on a; not forwarded on b'])
  })

  test('disagree with what is the same left out, however long the lists are', () => {
    const ips = ['1', '2', '3', '4', '5'].map((last) => `10.0.0.${last}`)
    const disputed = (one: readonly string[], other: readonly string[]) =>
      nodeDifferences(readServices([node('a', [entry(one)]), node('b', [entry(other)])]), false)
        .disputed
    expect(disputed(ips, ips.slice(0, 4))).toEqual([
      'http/TCP/4: to 10.0.0.5:80 on a; to no such backend on b',
    ])
    expect(disputed(['10.0.0.1'], [])).toEqual([
      'http/TCP/4: to 10.0.0.1:80 on a; to no backend on b',
    ])
  })

  test('the local pool is that of each node, and so are all backends where endpoints have hints', () => {
    const { backends = [] } = most[0]?.entries?.[0] ?? {}
    const own = { ip: '10.0.0.9', port: 80, weight: 1, inLocalPool: true }
    expect(textsOf(node('d', [entry([], { backends: [...backends, own] })]))).toEqual({})
    const services = readServices([...most, node('d', [entry(['10.0.0.1'], { status: 'Error' })])])
    const { byNode } = nodeDifferences(services, true)
    expect(Object.fromEntries(byNode)).toEqual({ d: ['http/TCP/4: Error, elsewhere Done'] })
  })

  test('a weight that differs is a difference', () => {
    const backends = [
      { ip: '10.0.0.1', port: 80, weight: 1, inClusterPool: true },
      { ip: '10.0.0.2', port: 80, weight: 5, inClusterPool: true },
    ]
    expect(textsOf(node('d', [entry([], { backends })]))['d']).toHaveLength(2)
  })
})

test('a row for each node, those first that an operator has to look at', () => {
  const nodes = [
    node('a', [entry(['10.0.0.1'])], [0, 8]),
    node('b', [entry(['10.0.0.1'])], [0, 2]),
    node('c', [entry([])]),
    UNREAD,
  ]
  const rows = nodeServiceRows(nodes, nodeDifferences(readServices(nodes), false).byNode)
  expect(rows.map(({ node: name }) => name)).toEqual(['z', 'c', 'a', 'b'])
  expect(rows[0]).toMatchObject({ isRead: false, remarks: ['connection refused'], status: '' })
  expect(rows[1]).toMatchObject({ backends: 0, remarks: ['http/TCP/4: without 10.0.0.1:80'] })
  expect(rows[2]).toMatchObject({ connections: 8, connectionsPerSecond: 4, backends: 1 })
})

test('a node that failed after it was read has no figures, and no part in the sum', () => {
  const late = { ...node('a', [entry(['10.0.0.1'])], [0, 8]), failure: 'refused' }
  expect(readServices([late])).toEqual([])
  expect(nodeServiceRows([late], new Map())).toEqual([
    expect.objectContaining({
      isRead: false,
      remarks: ['refused'],
      status: '',
      ports: undefined,
      backends: undefined,
      connections: undefined,
      bytesPerSecond: undefined,
    }),
  ])
})

test('the list has what its own node reports first, and nothing of nodes that do not answer', () => {
  const problem = { entry: ID, code: 'NP_X', message: 'belongs to a/b' }
  const reporting = answered(undefined, { problems: [problem] })
  const rows = (change: Partial<ServiceMessage>) => {
    const silent = failed(reporting, { message: '', code: '', status: 503 })
    const readings = new Map([
      ['n1', reporting],
      ['n2', silent],
    ])
    return clusterServiceRows([{ service: 'shop/web', ...change }], readings)[0]
  }
  const own = { ...problem, message: 'its own' }
  expect(rows({ status: 'Pending', problem: own })).toMatchObject({
    status: 'Conflict',
    problem: 'its own',
    nodes: 1,
  })
  const unknown = [{ service: 'shop/web', status: 'Unheard' }]
  expect(clusterServiceRows(unknown, new Map())[0]?.status).toBe('Unheard')
})

test('the list has the worst state that any node reports, and how many do', () => {
  const problem = { entry: ID, code: 'NP_X', message: 'belongs to a/b' }
  const refusal = { object: 'chain', entries: [ID], message: 'EINVAL' }
  const readings = new Map([
    ['n1', answered(undefined, { problems: [problem, problem] })],
    ['n2', answered(undefined, { refusals: [refusal] })],
    ['n3', answered(undefined, {})],
  ])
  const services = [
    { service: 'shop/web', entries: 1, backends: 2, status: 'Done' },
    { service: 'shop/we', status: 'Pending' },
  ]
  expect(clusterServiceRows(services, readings)).toEqual([
    {
      service: 'shop/web',
      entries: 1,
      backends: 2,
      status: 'Error',
      nodes: 2,
      problem: 'n1: belongs to a/b',
    },
    { service: 'shop/we', entries: 0, backends: 0, status: 'Pending', nodes: 0, problem: '' },
  ])
})
