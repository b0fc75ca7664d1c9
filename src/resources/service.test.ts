import { describe, expect, test } from 'vitest'
import type { Raw } from './reader.ts'
import { decodeService } from './service.ts'
import { placesOf, problemsOf, rawService, sound, valueOf } from './testing/raw-objects.ts'
import type { Service } from './types.ts'

function ofSpec(spec: Raw): Service {
  return sound(decodeService(rawService({ spec })))
}

/** The decoded value beside where its warnings are. */
function flawed(spec: Raw): { service: Service; places: readonly string[] } {
  const decoded = decodeService(rawService({ spec }))
  return { service: valueOf(decoded), places: placesOf(problemsOf(decoded)) }
}

test('projects a Service to what a node needs', () => {
  expect(sound(decodeService(rawService()))).toEqual({
    key: 'shop/cart',
    uid: 'uid-1',
    type: 'ClusterIP',
    clusterIPs: ['10.96.0.10'],
    ports: [{ name: 'http', protocol: 'TCP', port: 80, nodePort: 0 }],
    externalIPs: [],
    loadBalancerIPs: [],
    loadBalancerSourceRanges: undefined,
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    healthCheckNodePort: 0,
    affinitySeconds: undefined,
    publishNotReadyAddresses: false,
    proxyName: undefined,
    scheduler: undefined,
    proxyProtocol: undefined,
  })
})

test('takes every field that there is', () => {
  const raw = rawService({
    metadata: {
      annotations: {
        'service.orch.io/ipvs-scheduler': ' wrr ',
        'service.kubernetes.io/proxy-protocol': ' v2 ',
      },
    },
    spec: {
      type: 'LoadBalancer',
      clusterIPs: ['10.96.0.10', 'FD00::0A'],
      ipFamilies: ['IPv4', 'IPv6'],
      ports: [
        { name: 'dns', protocol: 'UDP', port: 53, nodePort: 30053 },
        { name: 'dns-tcp', port: 53, nodePort: 30053 },
        { name: 'sig', protocol: 'SCTP', port: 36412 },
      ],
      externalIPs: ['203.0.113.7', '2001:DB8::7', '203.0.113.7'],
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
      healthCheckNodePort: 32_000,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      publishNotReadyAddresses: true,
    },
    status: { loadBalancer: { ingress: [{ ip: '198.51.100.1' }, { hostname: 'lb.example' }] } },
  })
  expect(sound(decodeService(raw))).toMatchObject({
    type: 'LoadBalancer',
    clusterIPs: ['10.96.0.10', 'fd00::a'],
    ports: [
      { name: 'dns', protocol: 'UDP', port: 53, nodePort: 30053 },
      { name: 'dns-tcp', protocol: 'TCP', port: 53, nodePort: 30053 },
      { name: 'sig', protocol: 'SCTP', port: 36412, nodePort: 0 },
    ],
    externalIPs: ['203.0.113.7', '2001:db8::7'],
    loadBalancerIPs: ['198.51.100.1'],
    externalTrafficPolicy: 'Local',
    internalTrafficPolicy: 'Local',
    healthCheckNodePort: 32_000,
    affinitySeconds: 60,
    publishNotReadyAddresses: true,
    scheduler: 'wrr',
    proxyProtocol: 'v2',
  })
})

describe('an object that cannot be identified is refused as a whole', () => {
  test.each<[Raw, string]>([
    [{ name: undefined }, 'metadata.name (absent)'],
    [{ name: '' }, 'metadata.name ""'],
    [{ name: 'a.b' }, 'metadata.name "a.b"'],
    [{ name: 'A' }, 'metadata.name "A"'],
    [{ name: 'a/b' }, 'metadata.name "a/b"'],
    [{ name: '; rm -rf /' }, 'metadata.name "; rm -rf /"'],
    [{ name: 'a\nb' }, 'metadata.name "a\\nb"'],
    [{ name: 'x'.repeat(64) }, `metadata.name "${'x'.repeat(64)}"`],
    [{ name: 7 }, 'metadata.name 7'],
    [{ name: '__proto__' }, 'metadata.name "__proto__"'],
    [{ namespace: '' }, 'metadata.namespace ""'],
    [{ namespace: 'a.b' }, 'metadata.namespace "a.b"'],
    [{ namespace: null }, 'metadata.namespace (absent)'],
  ])('%j', (metadata, place) => {
    const decoded = decodeService(rawService({ metadata }))
    expect([decoded.ok, placesOf(problemsOf(decoded))]).toEqual([false, [place]])
  })

  test.each([null, undefined, 7, 'text', [], [rawService()]])('%j', (raw) => {
    expect(decodeService(raw).ok).toBe(false)
  })

  test('a Service may be called constructor', () => {
    expect(sound(decodeService(rawService({ metadata: { name: 'constructor' } }))).key).toBe(
      'shop/constructor',
    )
  })
})

describe('cluster IPs', () => {
  test.each<[string, Raw, readonly string[]]>([
    ['headless', { clusterIP: 'None', clusterIPs: ['None'] }, []],
    ['headless on an old server', { clusterIP: 'None', clusterIPs: undefined }, []],
    ['not allocated', { clusterIP: '', clusterIPs: [] }, []],
    ['absent', { clusterIP: undefined, clusterIPs: undefined }, []],
    ['ExternalName', { type: 'ExternalName', clusterIP: '10.96.0.1' }, []],
    ['clusterIP alone', { clusterIP: '10.96.0.9', clusterIPs: undefined }, ['10.96.0.9']],
    ['clusterIP alone, empty list', { clusterIP: 'fd00::9', clusterIPs: [] }, ['fd00::9']],
    [
      'IPv6 first',
      { clusterIPs: ['fd00::1', '10.96.0.1'], ipFamilies: ['IPv6', 'IPv4'] },
      ['fd00::1', '10.96.0.1'],
    ],
  ])('%s', (_, spec, clusterIPs) => {
    expect(ofSpec(spec).clusterIPs).toEqual(clusterIPs)
  })

  test.each<[Raw, readonly string[], string]>([
    [{ clusterIPs: ['10.96.0.1.'] }, [], 'spec.clusterIPs[0] "10.96.0.1."'],
    [{ clusterIPs: [7, 'fd00::1'] }, ['fd00::1'], 'spec.clusterIPs[0] 7'],
    [{ clusterIPs: ['10.96.0.1', '10.96.0.2'] }, ['10.96.0.1'], 'spec.clusterIPs[1] "10.96.0.2"'],
    [{ clusterIPs: 'x' }, ['10.96.0.10'], 'spec.clusterIPs "x"'],
    [{ clusterIP: '1.2.3', clusterIPs: [] }, [], 'spec.clusterIP "1.2.3"'],
    [{ clusterIPs: ['fd00::1'] }, ['fd00::1'], 'spec.ipFamilies[0] "IPv4"'],
  ])('%j', (spec, clusterIPs, place) => {
    const { service, places } = flawed(spec)
    expect([service.clusterIPs, places]).toEqual([clusterIPs, [place]])
  })
})

describe('ports', () => {
  test.each<[unknown, string]>([
    [{ port: 0 }, 'spec.ports[0].port 0'],
    [{ port: 65_536 }, 'spec.ports[0].port 65536'],
    [{ port: 80.5 }, 'spec.ports[0].port 80.5'],
    [{ port: '80' }, 'spec.ports[0].port "80"'],
    [{}, 'spec.ports[0].port (absent)'],
    [{ port: 1, protocol: 'tcp' }, 'spec.ports[0].protocol "tcp"'],
    [{ port: 1, protocol: 'ICMP' }, 'spec.ports[0].protocol "ICMP"'],
    [{ port: 1, name: 'a b' }, 'spec.ports[0].name "a b"'],
    [{ port: 1, name: '-j DROP' }, 'spec.ports[0].name "-j DROP"'],
    [null, 'spec.ports[0] null'],
    [[], 'spec.ports[0] []'],
  ])('%j costs only itself', (port, place) => {
    const { service, places } = flawed({ ports: [port, { port: 443 }] })
    expect(service.ports).toEqual([{ name: '', protocol: 'TCP', port: 443, nodePort: 0 }])
    expect(places).toEqual([place])
  })

  test.each([-1, 65_536, 'x', {}])('node port %j costs only the node port', (nodePort) => {
    const { service, places } = flawed({ ports: [{ port: 80, nodePort }] })
    expect(service.ports).toMatchObject([{ port: 80, nodePort: 0 }])
    expect(places).toEqual([`spec.ports[0].nodePort ${JSON.stringify(nodePort)}`])
  })
})

describe('addresses that are never captured', () => {
  test.each([
    '010.0.0.256',
    '0127.0.0.1',
    '10.0.0.1 ',
    '10.0.0.1/32',
    'fe80::1%eth0',
    '127.0.0.1',
    '0.0.0.0',
    '169.254.169.254',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fe80::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:10.0.0.1',
    '',
    7,
    null,
    ['10.0.0.1'],
  ])('%j', (ip) => {
    const decoded = decodeService(
      rawService({
        spec: { externalIPs: ['203.0.113.1', ip, '203.0.113.2'] },
        status: { loadBalancer: { ingress: [{ ip }, { ip: '198.51.100.1' }] } },
      }),
    )
    const service = valueOf(decoded)
    expect(service.externalIPs).toEqual(['203.0.113.1', '203.0.113.2'])
    expect(service.loadBalancerIPs).toEqual(['198.51.100.1'])
    const value = JSON.stringify(ip)
    const places = [
      `spec.externalIPs[1] ${value}`,
      `status.loadBalancer.ingress[0].ip ${value}`,
    ].slice(0, ip === '' || ip === null ? 1 : 2)
    expect(placesOf(problemsOf(decoded))).toEqual(places)
  })
})

test.each<[unknown, boolean, number]>([
  [undefined, true, 0],
  ['VIP', true, 0],
  ['Proxy', false, 0],
  ['Tunnel', false, 1],
  [7, false, 1],
])('ingress of ipMode %j is captured: %j', (ipMode, captured, warnings) => {
  const status = { loadBalancer: { ingress: [{ ip: '198.51.100.1', ipMode }] } }
  const decoded = decodeService(rawService({ status }))
  expect(valueOf(decoded).loadBalancerIPs).toEqual(captured ? ['198.51.100.1'] : [])
  expect(problemsOf(decoded)).toHaveLength(warnings)
})

describe('session affinity', () => {
  test.each<[Raw, number | undefined]>([
    [{ sessionAffinity: 'None' }, undefined],
    [{ sessionAffinity: '' }, undefined],
    [
      { sessionAffinity: 'None', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
      undefined,
    ],
    [{ sessionAffinity: 'ClientIP' }, 10_800],
    [{ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: {} } }, 10_800],
    [affine(1), 1],
    [affine(86_400), 86_400],
  ])('%j', (spec, seconds) => {
    expect(ofSpec(spec).affinitySeconds).toBe(seconds)
  })

  test.each([0, -1, 86_401, 1.5, '60', {}, 1e12])('%j seconds are the default', (seconds) => {
    const { service, places } = flawed(affine(seconds))
    expect(service.affinitySeconds).toBe(10_800)
    expect(places).toEqual([
      `spec.sessionAffinityConfig.clientIP.timeoutSeconds ${JSON.stringify(seconds)}`,
    ])
  })

  function affine(timeoutSeconds: unknown): Raw {
    return { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds } } }
  }
})

describe('values that are replaced', () => {
  test.each<[Raw, Partial<Service>]>([
    [{ type: 'Cluster' }, { type: 'ClusterIP' }],
    [{ sessionAffinity: 'clientip' }, { affinitySeconds: undefined }],
    [{ externalTrafficPolicy: 'local' }, { externalTrafficPolicy: 'Cluster' }],
    [{ internalTrafficPolicy: 3 }, { internalTrafficPolicy: 'Cluster' }],
    [{ healthCheckNodePort: 70_000 }, { healthCheckNodePort: 0 }],
    [{ publishNotReadyAddresses: 'yes' }, { publishNotReadyAddresses: false }],
    [{ externalIPs: '203.0.113.1' }, { externalIPs: [] }],
    [{ ports: 'x' }, { ports: [] }],
  ])('%j', (spec, expected) => {
    const { service, places } = flawed(spec)
    expect(service).toMatchObject(expected)
    expect(places).toEqual([
      `spec.${Object.keys(spec)[0]} ${JSON.stringify(Object.values(spec)[0])}`,
    ])
  })

  test('a spec, status or metadata of the wrong type', () => {
    const decoded = decodeService({ ...rawService(), spec: 'x', status: [] })
    expect(valueOf(decoded)).toMatchObject({ clusterIPs: [], ports: [] })
    expect(placesOf(problemsOf(decoded))).toEqual(['spec "x"', 'status []'])
    expect(decodeService({ ...rawService(), metadata: 'x' }).ok).toBe(false)
  })
})

describe('the name of the proxy', () => {
  test.each<[Raw, string | undefined]>([
    [{}, undefined],
    [{ 'service.kubernetes.io/service-proxy-name': 'other' }, 'other'],
    [{ 'service.orch.io/service-proxy-name': 'mine' }, 'mine'],
    [{ 'service.orch.io/service-proxy-name': '' }, ''],
    [
      {
        'service.kubernetes.io/service-proxy-name': 'other',
        'service.orch.io/service-proxy-name': 'mine',
      },
      'mine',
    ],
  ])('%j', (labels, proxyName) => {
    expect(sound(decodeService(rawService({ metadata: { labels } }))).proxyName).toBe(proxyName)
  })

  test.each([7, {}, 'a b', 'x'.repeat(70_000)])('an unreadable one names no object', (name) => {
    const labels = { 'service.kubernetes.io/service-proxy-name': name }
    const decoded = decodeService(rawService({ metadata: { labels } }))
    expect(valueOf(decoded).proxyName).toBe('')
    expect(problemsOf(decoded)).toHaveLength(1)
  })
})

test.each(['rr; reboot', 'x'.repeat(16), 'RR', 7])('scheduler %j is left out', (scheduler) => {
  const annotations = { 'service.orch.io/ipvs-scheduler': scheduler }
  const decoded = decodeService(rawService({ metadata: { annotations } }))
  expect(valueOf(decoded).scheduler).toBeUndefined()
  expect(placesOf(problemsOf(decoded))).toEqual([
    `metadata.annotations[service.orch.io/ipvs-scheduler] ${JSON.stringify(scheduler)}`,
  ])
})

test.each(['v3', 'V1', 'v1; reboot', '1', 2])('PROXY protocol %j is left out', (version) => {
  const annotations = { 'service.orch.io/proxy-protocol': version }
  const decoded = decodeService(rawService({ metadata: { annotations } }))
  expect(valueOf(decoded).proxyProtocol).toBeUndefined()
  expect(placesOf(problemsOf(decoded))).toEqual([
    `metadata.annotations[service.orch.io/proxy-protocol] ${JSON.stringify(version)}`,
  ])
})

test('of two families of annotations ours counts, and a blank one says nothing', () => {
  const theirs = { 'service.kubernetes.io/proxy-protocol': 'v1' }
  const versionOf = (mine: string) => {
    const annotations = { ...theirs, 'service.orch.io/proxy-protocol': mine }
    return sound(decodeService(rawService({ metadata: { annotations } }))).proxyProtocol
  }
  expect([versionOf('v2'), versionOf(' ')]).toEqual(['v2', undefined])
})

test('an overlong uid is left out', () => {
  const decoded = decodeService(rawService({ metadata: { uid: 'u'.repeat(129) } }))
  expect([valueOf(decoded).uid, problemsOf(decoded).length]).toEqual(['', 1])
})

test('a key called __proto__ anywhere changes nothing', () => {
  const raw = JSON.stringify(rawService()).replaceAll('{"', '{"__proto__":{"type":"NodePort"},"')
  expect(sound(decodeService(JSON.parse(raw)))).toEqual(sound(decodeService(rawService())))
  expect(({} as Record<string, unknown>)['type']).toBeUndefined()
})

test('a warning names the field, the value and the remedy', () => {
  const decoded = decodeService(rawService({ spec: { externalIPs: ['10.0.0.x'] } }))
  expect(problemsOf(decoded)).toEqual([
    {
      field: 'spec.externalIPs[0]',
      value: '"10.0.0.x"',
      message:
        'must be an IP address such as 10.0.0.1 or fd00::1, without leading zeros, zone or blanks; it is left out',
    },
  ])
})

describe('the name that an ExternalName Service stands for', () => {
  test.each([
    ['db.example.com', 'db.example.com'],
    ['DB.Example.com.', 'db.example.com'],
    ['_sip._tcp.example', '_sip._tcp.example'],
    [undefined, undefined],
  ])('%j is %j', (externalName, expected) => {
    expect(ofSpec({ type: 'ExternalName', externalName }).externalName).toBe(expected)
  })

  test.each(['a b', 'a..b', '-a.b', `${'a'.repeat(64)}.b`, '.', '', 7])(
    '%j is left out',
    (name) => {
      const service = ofSpec({ type: 'ExternalName', externalName: name })
      expect(service).not.toHaveProperty('externalName')
    },
  )

  test('means nothing in a Service of another type', () => {
    expect(ofSpec({ externalName: 'db.example.com' })).not.toHaveProperty('externalName')
  })
})

test.each<[unknown, string | undefined, number]>([
  ['example.com/layer2', 'example.com/layer2', 0],
  [undefined, undefined, 0],
  ['', '', 1],
  [7, '', 1],
])('loadBalancerClass %j is read as %j', (loadBalancerClass, expected, warnings) => {
  const decoded = decodeService(rawService({ spec: { loadBalancerClass } }))
  expect(valueOf(decoded).loadBalancerClass).toBe(expected)
  expect(problemsOf(decoded)).toHaveLength(warnings)
})
