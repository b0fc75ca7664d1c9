import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Endpoint, Service } from '../resources/types.ts'
import { compileService } from './compile.ts'
import type { Pool } from './entry.ts'
import { explainPool } from './explain-pool.ts'
import type { NodeContext } from './node-context.ts'
import {
  clusterOf,
  endpoint,
  endpointPort,
  LEAVING,
  nodeContext,
  service,
  servicePort,
  slice,
} from './testing/fixtures.ts'

interface Given {
  readonly service?: Partial<Service>
  readonly endpoints: readonly Endpoint[]
  readonly node?: Partial<NodeContext>
  readonly pool?: Pool
  readonly port?: string
}

function explained({ service: fields, endpoints, node, pool = 'cluster', port = 'http' }: Given) {
  const requested = service(fields)
  const context = nodeContext(node)
  const ports = [endpointPort({ name: port })]
  const cluster = clusterOf([requested], [slice(endpoints, { ports })])
  const [entry] = compileService(requested.key, cluster, context)
  const frontend = { kind: entry!.frontends[0]!.kind }
  return { entry: entry!, found: explainPool({ entry: entry!, frontend, pool }, cluster, context)! }
}

const A = { zoneHints: ['zone-a'], nodeName: 'here' }
const B = { zoneHints: ['zone-b'], nodeName: 'there' }
const LOCAL = { internalTrafficPolicy: 'Local' } as const
const DOWN = { ready: false, serving: false } as const
const zone = { zone: 'zone-a' }

test.each<[string, Given, readonly string[], readonly string[]]>([
  [
    'hints for the zone',
    { endpoints: [endpoint('10.0.0.1', A), endpoint('10.0.0.2', B)], node: zone },
    ['topology hints for zone zone-a are followed: 1 of 2 ready endpoints'],
    ['10.0.0.2 hintedForOtherZones: hinted for zone zone-b'],
  ],
  [
    'hints for the node',
    {
      endpoints: [
        endpoint('10.0.0.1', { nodeHints: ['here'] }),
        endpoint('10.0.0.2', { nodeHints: ['x', 'y'] }),
      ],
    },
    ['topology hints for node here are followed: 1 of 2 ready endpoints'],
    ['10.0.0.2 hintedForOtherNodes: hinted for node x, y'],
  ],
  [
    'an endpoint without a hint',
    { endpoints: [endpoint('10.0.0.1', A), endpoint('10.0.0.2')], node: zone },
    ['topology hints are ignored: 1 of 2 ready endpoints have none'],
    [],
  ],
  [
    'hints for other zones',
    { endpoints: [endpoint('10.0.0.1', B)], node: zone },
    ['topology hints are ignored: no ready endpoint is hinted for zone zone-a'],
    [],
  ],
  [
    'a node without a zone',
    { endpoints: [endpoint('10.0.0.1', B)] },
    ['topology hints are ignored: the zone of this node is unknown'],
    [],
  ],
  [
    'hints for other nodes alone',
    { endpoints: [endpoint('10.0.0.1', { nodeHints: ['there'] })] },
    ['topology hints are ignored: no ready endpoint is hinted for node here'],
    [],
  ],
  [
    'hints for nodes of some',
    { endpoints: [endpoint('10.0.0.1', { nodeHints: ['here'] }), endpoint('10.0.0.2')] },
    ['topology hints are ignored: 1 of 2 ready endpoints have none'],
    [],
  ],
  [
    'conditions',
    {
      endpoints: [
        endpoint('10.0.0.1'),
        endpoint('10.0.0.2', DOWN),
        endpoint('10.0.0.3', LEAVING),
        endpoint('10.0.0.4', { ...LEAVING, serving: false }),
      ],
    },
    ['no topology hints: every ready endpoint is used'],
    [
      '10.0.0.2 notReady: not ready',
      '10.0.0.3 terminating: terminating, and others are ready',
      '10.0.0.4 terminating: terminating, and no longer serves',
    ],
  ],
  [
    'terminating endpoints alone',
    { endpoints: [endpoint('10.0.0.1', DOWN), endpoint('10.0.0.3', LEAVING)] },
    ['no endpoint of the pool is ready: 1 terminating that still serve'],
    ['10.0.0.1 notReady: not ready'],
  ],
  [
    'traffic policy Local',
    {
      service: LOCAL,
      endpoints: [
        endpoint('10.0.0.1', A),
        endpoint('10.0.0.2', { ...B, ...DOWN }),
        endpoint('10.0.0.3'),
      ],
      pool: 'local',
    },
    ['internalTrafficPolicy is Local: endpoints on node here alone'],
    [
      '10.0.0.2 otherNode: on node there',
      '10.0.0.3 otherNode: on a node that its slice does not name',
    ],
  ],
  [
    'a special address',
    { endpoints: [endpoint('10.0.0.1'), endpoint('127.0.0.1')] },
    ['no topology hints: every ready endpoint is used'],
    [
      '127.0.0.1 specialAddress: is an unspecified, loopback, link-local, multicast or broadcast address and gets no traffic; use the address of a Pod or host',
    ],
  ],
  [
    'special addresses alone',
    { endpoints: [endpoint('127.0.0.1')] },
    [],
    [expect.stringMatching(/^127.0.0.1 specialAddress: is an unspecified/)],
  ],
  ['no endpoints', { endpoints: [] }, [], []],
  [
    'another name of the port',
    { endpoints: [endpoint('10.0.0.1')], port: 'web' },
    ['no endpoint has the port http/TCP'],
    [],
  ],
  [
    'a port without a name',
    {
      service: { ports: [servicePort({ name: '' })] },
      endpoints: [endpoint('10.0.0.1')],
    },
    ['no endpoint has the port without a name/TCP'],
    [],
  ],
  [
    'endpoints of the other family alone',
    { endpoints: [endpoint('fd00::1')], port: 'web' },
    [],
    [],
  ],
  [
    'one that is ready and terminating',
    {
      endpoints: [endpoint('10.0.0.1', A), endpoint('10.0.0.2', { ...B, terminating: true })],
      node: zone,
    },
    ['topology hints for zone zone-a are followed: 1 of 2 ready endpoints'],
    ['10.0.0.2 hintedForOtherZones: hinted for zone zone-b'],
  ],
])('%s', (_, given, reasons, left) => {
  const { found } = explained(given)
  expect(found.reasons).toEqual(reasons)
  expect(found.leftOut.map(({ ip, reason, text }) => `${ip} ${reason}: ${text}`)).toEqual(left)
})

test('the decision by name, the zone, and the nodes of the backends', () => {
  const endpoints = [endpoint('10.0.0.1', A), endpoint('10.0.0.2', B)]
  const { found } = explained({ endpoints, node: zone })
  expect(found).toMatchObject({ pool: 'cluster', zone: 'zone-a', chosenBy: 'zoneHints' })
  expect([...found.nodes]).toEqual([['10.0.0.1', 'here']])
  expect(found.leftOut[0]).toMatchObject({ port: 8080, nodeName: 'there' })
  expect(explained({ endpoints: [endpoint('10.0.0.1')] }).found.nodes.size).toBe(0)
  const leaving = explained({ endpoints: [endpoint('10.0.0.1', LEAVING)] }).found
  expect(leaving.chosenBy).toBe('terminating')
})

test('a local pool names the policy of its frontend', () => {
  const { entry } = explained({ service: { externalTrafficPolicy: 'Local' }, endpoints: [] })
  const cluster = clusterOf([service()])
  const policies = (['clusterIP', 'nodePort', 'loadBalancerIP', 'externalIP'] as const).map(
    (kind) => {
      const question = { entry, frontend: { kind }, pool: 'local' } as const
      return explainPool(question, cluster, nodeContext())?.reasons[0]?.split(' ', 1)[0]
    },
  )
  expect(policies).toEqual([
    'internalTrafficPolicy',
    'externalTrafficPolicy',
    'externalTrafficPolicy',
    'externalTrafficPolicy',
  ])
})

test('a Service that is gone is not explained', () => {
  const { entry } = explained({ endpoints: [] })
  const question = { entry, frontend: { kind: 'clusterIP' }, pool: 'cluster' } as const
  expect(explainPool(question, clusterOf([]), nodeContext())).toBeUndefined()
})

const anyEndpoint = fc.record({
  last: fc.integer({ min: 1, max: 9 }),
  nodeName: fc.constantFrom('', 'here', 'there'),
  ready: fc.boolean(),
  serving: fc.boolean(),
  terminating: fc.boolean(),
  zoneHints: fc.constantFrom(undefined, ['zone-a'], ['zone-b']),
  nodeHints: fc.constantFrom(undefined, undefined, undefined, ['here'], ['there']),
})

test('every endpoint of the port is a backend of the entry, or left out with a reason that holds', () => {
  fc.assert(
    fc.property(
      fc.array(anyEndpoint, { maxLength: 6 }),
      fc.constantFrom<Pool>('cluster', 'local'),
      fc.boolean(),
      (rows, pool, publishNotReadyAddresses) => {
        const endpoints = rows.map(({ last, ...one }) => endpoint(`10.0.0.${last}`, one))
        const fields = { publishNotReadyAddresses, ...(pool === 'local' ? LOCAL : {}) }
        const { entry, found } = explained({ service: fields, endpoints, node: zone, pool })
        const used = entry.pools[pool].map(({ ip }) => ip)
        const left = found.leftOut.map(({ ip }) => ip)
        expect([...used, ...left].sort()).toEqual(
          [...new Set(endpoints.map(({ ip }) => ip))].sort(),
        )
        for (const { reason, nodeName } of found.leftOut) {
          if (reason === 'otherNode') expect([pool, nodeName === 'here']).toEqual(['local', false])
          if (reason.startsWith('hinted')) expect(pool).toBe('cluster')
        }
      },
    ),
  )
})
