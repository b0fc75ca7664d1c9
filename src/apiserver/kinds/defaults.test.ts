import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import { applyDefaults } from './testing/rules-by-kind.ts'

const CLUSTER_IP = { type: 'ClusterIP', sessionAffinity: 'None', internalTrafficPolicy: 'Cluster' }

test.each<[Raw, Raw]>([
  [{}, CLUSTER_IP],
  [{ type: '', sessionAffinity: '', internalTrafficPolicy: null }, CLUSTER_IP],
  [{ internalTrafficPolicy: 'Local' }, { ...CLUSTER_IP, internalTrafficPolicy: 'Local' }],
  [{ type: 'ExternalName' }, { type: 'ExternalName', sessionAffinity: 'None' }],
  [{ type: 'NodePort' }, { ...CLUSTER_IP, type: 'NodePort', externalTrafficPolicy: 'Cluster' }],
  [
    { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
    {
      ...CLUSTER_IP,
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      allocateLoadBalancerNodePorts: true,
    },
  ],
  [
    { externalIPs: ['203.0.113.1'] },
    { ...CLUSTER_IP, externalIPs: ['203.0.113.1'], externalTrafficPolicy: 'Cluster' },
  ],
  [{ externalIPs: [] }, { ...CLUSTER_IP, externalIPs: [] }],
  [
    { sessionAffinity: 'ClientIP' },
    {
      ...CLUSTER_IP,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
    },
  ],
  [
    { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
    {
      ...CLUSTER_IP,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } },
    },
  ],
  [{ sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }, CLUSTER_IP],
  [
    {
      ports: [
        { port: 80 },
        { port: 53, protocol: 'UDP', targetPort: 'dns' },
        { port: 9, targetPort: 0 },
      ],
    },
    {
      ...CLUSTER_IP,
      ports: [
        { port: 80, protocol: 'TCP', targetPort: 80 },
        { port: 53, protocol: 'UDP', targetPort: 'dns' },
        { port: 9, protocol: 'TCP', targetPort: 9 },
      ],
    },
  ],
  [{ ports: [{ name: 'x' }] }, { ...CLUSTER_IP, ports: [{ name: 'x', protocol: 'TCP' }] }],
])('a Service with spec %j', (spec, expected) => {
  expect(applyDefaults('Service', { kind: 'Service', spec })).toEqual({
    kind: 'Service',
    spec: expected,
  })
})

test('a Service without a spec has one', () => {
  expect(applyDefaults('Service', {})).toEqual({ spec: CLUSTER_IP })
})

test.each<[Raw]>([[{ spec: 'x' }], [{ spec: ['x'] }], [{ spec: 7 }]])(
  'what has the wrong type is left for validation: %j',
  (raw) => {
    expect(applyDefaults('Service', raw)).toEqual(raw)
  },
)

test('wrong types inside a spec are left for validation', () => {
  const spec = { ports: 'x', sessionAffinity: 7, externalIPs: 'y' }
  expect(applyDefaults('Service', { spec })).toEqual({ spec: { ...CLUSTER_IP, ...spec } })
  const ports = [null, 'x', 7]
  expect(applyDefaults('Service', { spec: { ports } })).toEqual({ spec: { ...CLUSTER_IP, ports } })
})

test('ports of endpoints are TCP, and those of slices have a name', () => {
  expect(
    applyDefaults('EndpointSlice', { ports: [{ port: 1 }, { name: 'a', protocol: 'UDP' }] }),
  ).toEqual({
    ports: [
      { port: 1, protocol: 'TCP', name: '' },
      { name: 'a', protocol: 'UDP' },
    ],
  })
  expect(applyDefaults('Endpoints', { subsets: [{ ports: [{ port: 1 }] }, 'x'] })).toEqual({
    subsets: [{ ports: [{ port: 1, protocol: 'TCP' }] }, 'x'],
  })
})

test('an object of a kind whose defaults do not concern it, or that has none, is unchanged', () => {
  const raw = { spec: {} }
  expect(applyDefaults('Node', raw)).toBe(raw)
  expect(applyDefaults('Lease', raw)).toBe(raw)
})

test('the object that was given is not touched', () => {
  const raw = JSON.parse(
    '{"__proto__":{"x":1},"spec":{"__proto__":{"type":"NodePort"},"ports":[{}]}}',
  )
  const before = JSON.stringify(raw)
  const defaulted = applyDefaults('Service', raw)
  expect(JSON.stringify(raw)).toBe(before)
  expect(defaulted).toMatchObject({ spec: { type: 'ClusterIP' } })
  expect(Object.hasOwn(defaulted, '__proto__')).toBe(true)
})

test('what has its defaults gets no others', () => {
  const kind = fc.constantFrom(
    'Service',
    'Endpoints',
    'EndpointSlice',
    'ConfigMap',
    'Secret',
    'Namespace',
    'RoleBinding',
    'NetworkPolicy',
    'Deployment',
    'DaemonSet',
    'ReplicaSet',
    'StatefulSet',
    'Job',
  )
  const key = fc.constantFrom(
    'type',
    'ports',
    'subsets',
    'sessionAffinity',
    'externalIPs',
    'x',
    'data',
    'stringData',
    'metadata',
    'name',
    'roleRef',
    'subjects',
    'kind',
    'egress',
    'template',
    'strategy',
    'updateStrategy',
    'volumeClaimTemplates',
  )
  const leaf = fc.constantFrom('', 'ClientIP', 'None', 'NodePort', null, 0, 80)
  const object = fc.object({ key, values: [leaf], maxDepth: 4, maxKeys: 4 }) as fc.Arbitrary<Raw>
  fc.assert(
    fc.property(kind, object, (name, spec) => {
      const once = applyDefaults(name, { ...spec, spec })
      expect(applyDefaults(name, once)).toEqual(once)
    }),
  )
})
