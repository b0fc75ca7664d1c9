import { describe, expect, test } from 'vitest'
import type { Raw } from '../../resources/reader.ts'
import {
  placesOf,
  rawEndpoints,
  rawNode,
  rawService,
  rawSlice,
} from '../../resources/testing/raw-objects.ts'
import { applyDefaults, validateObject } from './testing/rules-by-kind.ts'

function placesIn(kind: string, raw: Raw): readonly string[] {
  return placesOf(validateObject(kind, applyDefaults(kind, raw)))
}

describe('Service', () => {
  test.each<[string, Raw]>([
    ['a plain one', {}],
    ['headless', { clusterIP: 'None', clusterIPs: ['None'], ports: [] }],
    ['not allocated yet', { clusterIP: undefined, clusterIPs: undefined }],
    ['ExternalName', { type: 'ExternalName', externalName: 'db.example.com.', ports: undefined }],
    ['two families', { clusterIPs: ['10.96.0.1', 'fd00::1'], ipFamilies: ['IPv4', 'IPv6'] }],
    [
      'several ports',
      {
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30053 },
          { name: 'dns-tcp', port: 53, targetPort: 'dns-tcp', nodePort: 30053 },
        ],
      },
    ],
    ['a selector', { selector: { app: 'web', 'x.io/tier': '' } }],
    [
      'a node port left from another type',
      { type: 'ClusterIP', ports: [{ port: 1, nodePort: 2 }] },
    ],
    ['ranges', { type: 'LoadBalancer', loadBalancerSourceRanges: [' 10.0.0.0/8', '::/0'] }],
    ['affinity', { sessionAffinity: 'ClientIP' }],
    ['a protocol of applications', { ports: [{ port: 80, appProtocol: 'kubernetes.io/h2c' }] }],
  ])('%s may be written', (_, spec) => {
    expect(placesIn('Service', rawService({ spec }))).toEqual([])
  })

  test.each<[Raw, readonly string[]]>([
    [{ type: 'x' }, ['spec.type "x"']],
    [{ ports: [] }, ['spec.ports []']],
    [{ ports: undefined }, ['spec.ports (absent)']],
    [{ ports: 'x' }, ['spec.ports "x"']],
    [{ ports: [{ port: 0 }] }, ['spec.ports[0].port 0']],
    [{ ports: [{}] }, ['spec.ports[0].port (absent)']],
    [{ ports: [{ port: 1, nodePort: -1 }] }, ['spec.ports[0].nodePort -1']],
    [{ ports: [{ port: 1, targetPort: 0.5 }] }, ['spec.ports[0].targetPort 0.5']],
    [{ ports: [{ port: 1, targetPort: '80' }] }, ['spec.ports[0].targetPort "80"']],
    [{ ports: [{ port: 1 }, { name: 'a', port: 2 }] }, ['spec.ports[0].name (absent)']],
    [
      {
        ports: [
          { name: 'a', port: 1 },
          { name: 'a', port: 2 },
        ],
      },
      ['spec.ports[1].name "a"'],
    ],
    [
      {
        ports: [
          { name: 'a', port: 1 },
          { name: 'b', port: 1 },
        ],
      },
      ['spec.ports[1].port 1'],
    ],
    [
      {
        ports: [
          { name: 'a', port: 1, nodePort: 30001 },
          { name: 'b', port: 2, nodePort: 30001 },
        ],
      },
      ['spec.ports[1].nodePort 30001'],
    ],
    [{ externalIPs: ['127.0.0.1'] }, ['spec.externalIPs[0] "127.0.0.1"']],
    [{ externalIPs: 'x' }, ['spec.externalIPs "x"']],
    [{ clusterIPs: ['None', '10.96.0.1'] }, ['spec.clusterIPs ["None","10.96.0.1"]']],
    [{ type: 'NodePort', clusterIP: 'None', clusterIPs: ['None'] }, ['spec.clusterIP "None"']],
    [{ ipFamilies: ['IPv5'] }, ['spec.ipFamilies[0] "IPv5"']],
    [{ ipFamilies: ['IPv4', 'IPv4'] }, ['spec.ipFamilies[1] "IPv4"']],
    [{ ipFamilyPolicy: 'Dual' }, ['spec.ipFamilyPolicy "Dual"']],
    [{ selector: { app: 7 } }, ['spec.selector {"app":7}']],
    [{ selector: { 'a b': 'x' } }, ['spec.selector {"a b":"x"}']],
    [{ selector: [] }, ['spec.selector []']],
    [{ type: 'ExternalName' }, ['spec.externalName (absent)']],
    [{ type: 'ExternalName', externalName: 'a b' }, ['spec.externalName "a b"']],
    [{ sessionAffinity: 'Cookie' }, ['spec.sessionAffinity "Cookie"']],
    [{ trafficDistribution: 'Near' }, ['spec.trafficDistribution "Near"']],
    [
      { loadBalancerSourceRanges: ['10.0.0.0/33'] },
      ['spec.loadBalancerSourceRanges[0] "10.0.0.0/33"'],
    ],
    [{ loadBalancerSourceRanges: ['10.0.0.1'] }, ['spec.loadBalancerSourceRanges[0] "10.0.0.1"']],
    [{ ports: [{ port: 1, appProtocol: 'a b' }] }, ['spec.ports[0].appProtocol "a b"']],
    [
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
      ['spec.sessionAffinityConfig.clientIP.timeoutSeconds 0'],
    ],
  ])('%j may not', (spec, places) => {
    expect(placesIn('Service', rawService({ spec }))).toEqual(places)
  })

  test.each<[Record<string, string>, readonly string[]]>([
    [{ 'service.kubernetes.io/topology-mode': 'Auto' }, []],
    [
      {
        'service.kubernetes.io/topology-mode': 'Auto',
        'service.kubernetes.io/topology-aware-hints': 'Auto',
      },
      [],
    ],
    [
      {
        'service.kubernetes.io/topology-mode': 'Auto',
        'service.kubernetes.io/topology-aware-hints': 'auto',
      },
      ['metadata.annotations[service.kubernetes.io/topology-aware-hints] "auto"'],
    ],
    [
      { 'service.orch.io/topology-mode': 'Auto', 'service.orch.io/topology-aware-hints': 'off' },
      ['metadata.annotations[service.orch.io/topology-aware-hints] "off"'],
    ],
  ])('%j', (annotations, places) => {
    expect(placesIn('Service', rawService({ metadata: { annotations } }))).toEqual(places)
  })

  test('its name starts with a letter', () => {
    expect(placesIn('Service', rawService({ metadata: { name: '1-cart' } }))).toEqual([
      'metadata.name "1-cart"',
    ])
  })

  test('the annotation of ranges must contain valid networks, too', () => {
    const key = 'service.beta.kubernetes.io/load-balancer-source-ranges'
    const metadata = { annotations: { [key]: '10.0.0.0/8, 10.0.0.1' } }
    expect(placesIn('Service', rawService({ metadata }))).toEqual([
      `metadata.annotations[${key}] "10.0.0.1"`,
    ])
  })

  test('the status is checked too', () => {
    const ingress = [{ ip: '127.0.0.1' }, { ip: '198.51.100.1', ipMode: 'x' }, { hostname: 'A b' }]
    expect(placesIn('Service', rawService({ status: { loadBalancer: { ingress } } }))).toEqual([
      'status.loadBalancer.ingress[0].ip "127.0.0.1"',
      'status.loadBalancer.ingress[1].ipMode "x"',
      'status.loadBalancer.ingress[2].hostname "A b"',
    ])
  })

  test('a refusal does not speak of what a node would do', () => {
    const [problem] = validateObject('Service', rawService({ spec: { type: 'x' } }))
    expect(problem?.message).toBe('must be one of ClusterIP, NodePort, LoadBalancer, ExternalName')
  })
})

describe('Endpoints', () => {
  const ports = [{ name: 'a', port: 1 }]

  test.each<[unknown, readonly string[]]>([
    [undefined, []],
    [[{ notReadyAddresses: [{ ip: '10.0.0.1' }], ports }], []],
    [[{ addresses: [{ ip: '10.0.0.1' }] }], []],
    [[{ ports }], ['subsets[0].addresses (absent)']],
    [
      [{ addresses: [{ ip: '169.254.169.254' }] }],
      ['subsets[0].addresses[0].ip "169.254.169.254"'],
    ],
    [
      [{ notReadyAddresses: [{ ip: '::ffff:127.0.0.1' }] }],
      ['subsets[0].notReadyAddresses[0].ip "::ffff:127.0.0.1"'],
    ],
    [
      [{ addresses: [{ ip: '10.0.0.1', hostname: 'a.b', nodeName: 'A' }] }],
      ['subsets[0].addresses[0].nodeName "A"', 'subsets[0].addresses[0].hostname "a.b"'],
    ],
    [[{ addresses: [{ ip: '10.0.0.1' }], ports: [{}] }], ['subsets[0].ports[0].port (absent)']],
    [
      [{ addresses: [{ ip: '10.0.0.1' }], ports: [...ports, ...ports] }],
      ['subsets[0].ports[1].name "a"'],
    ],
    ['x', ['subsets "x"']],
  ])('%j', (subsets, places) => {
    expect(placesIn('Endpoints', rawEndpoints({ subsets }))).toEqual(places)
  })

  test('those of a headless Service are checked like all others', () => {
    const metadata = { labels: { 'service.kubernetes.io/headless': '' } }
    const subsets = [{ addresses: [{ ip: '127.0.0.1' }] }]
    expect(placesIn('Endpoints', rawEndpoints({ metadata, subsets }))).toHaveLength(1)
  })
})

describe('EndpointSlice', () => {
  test.each<[Raw, readonly string[]]>([
    [{}, []],
    [{ metadata: { labels: {} } }, []],
    [{ addressType: 'FQDN', endpoints: [{ addresses: ['a.b'] }] }, []],
    [{ ports: [{ name: 'any' }] }, []],
    [{ addressType: undefined }, ['addressType (absent)']],
    [{ addressType: 'IP' }, ['addressType "IP"']],
    [
      { addressType: 'FQDN', endpoints: [{ addresses: ['A b'] }] },
      ['endpoints[0].addresses[0] "A b"'],
    ],
    [{ addressType: 'FQDN', endpoints: [{}] }, ['endpoints[0].addresses (absent)']],
    [{ endpoints: [{}] }, ['endpoints[0].addresses[0] (absent)']],
    [
      { endpoints: [{ addresses: ['10.0.0.1', '127.0.0.1', 'fd00::1'] }] },
      ['endpoints[0].addresses[1] "127.0.0.1"', 'endpoints[0].addresses[2] "fd00::1"'],
    ],
    [
      { endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: 'yes' } }] },
      ['endpoints[0].conditions.ready "yes"'],
    ],
    [
      { endpoints: [{ addresses: ['10.0.0.1'], nodeName: 'A', hostname: 'b.c' }] },
      ['endpoints[0].nodeName "A"', 'endpoints[0].hostname "b.c"'],
    ],
    [
      { endpoints: [hinted({ forZones: [{ name: 'a' }, { name: 'a b' }, { name: 'a' }] })] },
      ['endpoints[0].hints.forZones[1].name "a b"', 'endpoints[0].hints.forZones[2].name "a"'],
    ],
    [
      { endpoints: [hinted({ forNodes: [{ name: 'n' }, { name: 'N' }, { name: 'n' }, {}] })] },
      [
        'endpoints[0].hints.forNodes[1].name "N"',
        'endpoints[0].hints.forNodes[2].name "n"',
        'endpoints[0].hints.forNodes[3].name (absent)',
      ],
    ],
    [{ ports: [{ port: 1 }, { port: 2 }] }, ['ports[1].name ""']],
    [{ ports: [{ port: 1, protocol: 'x' }] }, ['ports[0].protocol "x"']],
    [{ ports: [{ port: 1, appProtocol: 'a b' }] }, ['ports[0].appProtocol "a b"']],
    [
      { metadata: { labels: { 'kubernetes.io/service-name': 'A' } } },
      ['metadata.labels[kubernetes.io/service-name] "A"'],
    ],
    [
      { metadata: { annotations: { 'service.orch.io/weight': 'x' } } },
      ['metadata.annotations[service.orch.io/weight] "x"'],
    ],
  ])('%j', (parts, places) => {
    expect(placesIn('EndpointSlice', rawSlice(parts))).toEqual(places)
  })

  test.each<[string, Raw]>([
    ['endpoints', { endpoints: Array.from({ length: 1_001 }, endpoint) }],
    ['ports', { ports: Array.from({ length: 20_001 }, (_, n) => ({ name: `p${n}`, port: 1 })) }],
    [
      'endpoints[0].addresses',
      { endpoints: [{ addresses: Array.from({ length: 101 }, () => '10.0.0.1') }] },
    ],
    [
      'endpoints[0].hints.forZones',
      {
        endpoints: [hinted({ forZones: Array.from({ length: 9 }, (_, i) => ({ name: `a${i}` })) })],
      },
    ],
  ])('too many %s', (field, parts) => {
    const fields = validateObject('EndpointSlice', rawSlice(parts)).map((problem) => problem.field)
    expect(fields).toEqual([field])
  })

  test('a Service may have more than a hundred ports, and so may its endpoints', () => {
    const ports = Array.from({ length: 101 }, (_, n) => ({ name: `p${n}`, port: n + 1 }))
    const subsets = [{ addresses: [{ ip: '10.0.0.1' }], ports }]
    expect(placesIn('EndpointSlice', rawSlice({ ports }))).toEqual([])
    expect(placesIn('Endpoints', rawEndpoints({ subsets }))).toEqual([])
    expect(placesIn('Service', rawService({ spec: { ports } }))).toEqual([])
  })

  function hinted(hints: Raw): Raw {
    return { ...endpoint(), hints }
  }

  function endpoint(): Raw {
    return { addresses: ['10.0.0.1'] }
  }
})

const TAINT = { key: 'a', effect: 'NoSchedule' }

test.each<[string, Raw, readonly string[]]>([
  ['Node', rawNode(), []],
  ['Node', rawNode({ spec: { podCIDRs: ['x'] } }), ['spec.podCIDRs[0] "x"']],
  [
    'Node',
    rawNode({ spec: { podCIDRs: ['10.0.0.0/8', '11.0.0.0/8', 'fd00::/8'] } }),
    ['spec.podCIDRs ["10.0.0.0/8","11.0.0.0/8","fd00::/8"]'],
  ],
  [
    'Node',
    rawNode({ spec: { taints: [{ effect: 'x' }] } }),
    ['spec.taints[0].key (absent)', 'spec.taints[0].effect "x"'],
  ],
  ['Node', rawNode({ spec: { taints: [{ key: 'a' }] } }), ['spec.taints[0].effect (absent)']],
  [
    'Node',
    rawNode({
      spec: { taints: [TAINT, { ...TAINT, effect: 'NoExecute' }, { ...TAINT, value: 'x' }] },
    }),
    ['spec.taints[2].effect "NoSchedule"'],
  ],
  [
    'Node',
    rawNode({ spec: { taints: [{ ...TAINT, key: 'a b', value: 'c d' }] } }),
    ['spec.taints[0].key "a b"', 'spec.taints[0].value "c d"'],
  ],
  ['Node', rawNode({ status: { addresses: [{ type: 'x' }] } }), ['status.addresses[0].type "x"']],
  ['Namespace', { metadata: { name: 'shop' } }, []],
  ['Namespace', { metadata: { name: 'a.b' } }, ['metadata.name "a.b"']],
])('%s %#', (kind, raw, places) => {
  expect(placesIn(kind, raw)).toEqual(places)
})

const SIZED = {
  limits: { cpu: 1, memory: '2Gi' },
  requests: { cpu: '1000m', memory: '2048Mi', x: 9 },
}

describe('Pod', () => {
  const metadata = { name: 'cart-1', namespace: 'shop' }
  const containers = [{ name: 'web', ports: [{ name: 'http', containerPort: 8080 }] }]

  test.each<[Raw, Raw, readonly string[]]>([
    [{ containers }, {}, []],
    [{ containers, hostNetwork: true }, { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] }, []],
    [{}, {}, ['spec.containers (absent)']],
    [{ containers: [{}] }, {}, ['spec.containers[0].name (absent)']],
    [{ containers: [...containers, ...containers] }, {}, ['spec.containers[1].name "web"']],
    [
      { containers: [{ name: 'a', ports: [{ name: 'A', containerPort: 0 }] }] },
      {},
      ['spec.containers[0].ports[0].containerPort 0', 'spec.containers[0].ports[0].name "A"'],
    ],
    [{ containers: [{ name: 'a', resources: SIZED }] }, {}, []],
    [
      {
        containers: [
          { name: 'a', resources: { ...SIZED, requests: { cpu: '1001m', memory: '3Gi' } } },
        ],
      },
      {},
      [
        'spec.containers[0].resources.requests[cpu] "1001m"',
        'spec.containers[0].resources.requests[memory] "3Gi"',
      ],
    ],
    [
      { containers: [{ name: 'a', resources: { limits: { cpu: '-1' } } }] },
      {},
      ['spec.containers[0].resources.limits[cpu] "-1"'],
    ],
    [{ containers, activeDeadlineSeconds: 0 }, {}, ['spec.activeDeadlineSeconds 0']],
    [{ containers, hostname: 'a.b' }, {}, ['spec.hostname "a.b"']],
    [{ containers, restartPolicy: 'x' }, {}, ['spec.restartPolicy "x"']],
    [{ containers, hostNetwork: 'x' }, {}, ['spec.hostNetwork "x"']],
    [{ containers }, { podIP: '169.254.169.254' }, ['status.podIP "169.254.169.254"']],
    [{ containers }, { podIPs: [{ ip: '::1' }] }, ['status.podIPs[0].ip "::1"']],
    [{ containers }, { phase: 'x' }, ['status.phase "x"']],
  ])('%j %j', (spec, status, places) => {
    expect(placesIn('Pod', { metadata, spec, status })).toEqual(places)
  })
})

describe('Event', () => {
  const metadata = { name: 'cart.1', namespace: 'shop' }
  const involvedObject = { kind: 'Service', name: 'cart', namespace: 'shop' }

  test.each<[Raw, readonly string[]]>([
    [{ involvedObject }, []],
    [{ involvedObject: { kind: 'Node', name: 'node-1' }, count: 2, reason: 'x' }, []],
    [{ involvedObject, firstTimestamp: '2030-01-02T03:04:05Z', eventTime: null }, []],
    [{}, ['involvedObject (absent)']],
    [
      { involvedObject: { ...involvedObject, namespace: 'other' } },
      ['involvedObject.namespace "other"'],
    ],
    [{ involvedObject, message: 7 }, ['message 7']],
    [{ involvedObject, lastTimestamp: 'now' }, ['lastTimestamp "now"']],
    [{ involvedObject, count: -1 }, ['count -1']],
  ])('%j', (parts, places) => {
    expect(placesIn('Event', { metadata, ...parts })).toEqual(places)
  })
})
