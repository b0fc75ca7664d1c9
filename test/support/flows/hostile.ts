import type { ApiObject } from '../lab/objects.ts'

/** Texts that are known to break shells, restore files, parsers or logs. */
const TEXTS: readonly string[] = [
  '$(touch /tmp/np-harm)',
  '`touch /tmp/np-harm`',
  '; iptables -F; #',
  "' -j ACCEPT\n-A INPUT -j DROP\nCOMMIT\n",
  '"\n-F\nCOMMIT\n*nat\n-F\nCOMMIT\n',
  '\n*filter\n:INPUT DROP [0:0]\nCOMMIT\n',
  '../../../etc/passwd',
  '%s%n%x%0a',
  '\u0000',
  '\u001b[2J\u001b[31m',
  '{"level":60,"msg":"forged"}\n{"level":60}',
  '__proto__',
  'constructor',
  '-A',
  '--help',
  ' ',
  '',
  'ｆｕｌｌｗｉｄｔｈ',
  'x'.repeat(70_000),
  '😀'.repeat(200),
]

const ADDRESSES: readonly unknown[] = [
  '010.000.000.001',
  '0x7f.0.0.1',
  '127.1',
  '2130706433',
  '10.0.0.1/8',
  '10.0.0.256',
  '10.0.0.1 -j ACCEPT',
  '::ffff:10.0.0.1',
  'fe80::1%eth0',
  '[::1]',
  '0.0.0.0',
  '255.255.255.255',
  '224.0.0.1',
  '127.0.0.1',
  '169.254.169.254',
  'None',
  '',
  null,
  17,
  {},
  ['10.0.0.1'],
  ...TEXTS,
]

const PORTS: readonly unknown[] = [
  0,
  -1,
  65536,
  1e9,
  1.5,
  '80',
  '80:90',
  '80 -j DROP',
  null,
  {},
  [],
  true,
  'http',
  NaN,
  ...TEXTS,
]

/** The addresses that hostile objects try to take from good Services. */
export interface Targets {
  readonly clusterIPs: readonly string[]
}

/**
 * `count` Services and as many EndpointSlices, every field of which may be
 * anything; the same ones for the same seed. None claims the ClusterIP of
 * another Service as its own, which no API server would allow.
 */
export function hostileObjects(count: number, targets: Targets, seed = 1): ApiObject[] {
  const random = generator(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const any = (...lists: readonly (readonly unknown[])[]): unknown => pick(pick(lists))
  return Array.from({ length: count }, (_, serial) => [
    hostileService(serial, { pick, any }, targets),
    hostileSlice(serial, { pick, any }),
  ]).flat()
}

interface Dice {
  readonly pick: <T>(list: readonly T[]) => T
  readonly any: (...lists: readonly (readonly unknown[])[]) => unknown
}

function hostileService(serial: number, { pick, any }: Dice, { clusterIPs }: Targets): ApiObject {
  const own = `172.28.${serial >> 8}.${serial & 255}`
  const clusterIP = pick([own, own, any(ADDRESSES)])
  const stolen = pick([...clusterIPs, ...ADDRESSES])
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: `h${serial}-${pick(TEXTS).slice(0, 200)}`,
      namespace: 'hostile',
      labels: { [pick(TEXTS)]: pick(TEXTS) },
      annotations: {
        'service.beta.orch.io/load-balancer-source-ranges': pick([...TEXTS, '10.0.0.0/33,::/0']),
        'service.orch.io/topology-aware-hints': pick(TEXTS),
        [pick(TEXTS)]: pick(TEXTS),
      },
    },
    spec: {
      type: pick(['ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName', ...TEXTS.slice(0, 4)]),
      clusterIP,
      clusterIPs: pick<unknown>([[clusterIP], [clusterIP, any(ADDRESSES)], 'x', null, [null]]),
      ipFamilies: pick<unknown>([['IPv4'], ['IPv6'], ['IPv5'], 'IPv4', null]),
      externalIPs: pick<unknown>([[stolen], [any(ADDRESSES), stolen], null, 'x', {}]),
      loadBalancerSourceRanges: pick<unknown>([[any(ADDRESSES)], ['0.0.0.0/0'], 'x', null]),
      sessionAffinity: pick<unknown>(['ClientIP', 'None', ...TEXTS.slice(0, 3), 7]),
      sessionAffinityConfig: {
        clientIP: { timeoutSeconds: pick<unknown>([0, -5, 86_401, 1e12, 'x', null, 60]) },
      },
      externalTrafficPolicy: pick<unknown>(['Local', 'Cluster', 'local', null, 3]),
      healthCheckNodePort: pick<unknown>([0, 10256, 10249, 22, -1, 70_000, 'x', null]),
      ports: pick<unknown>([
        [
          {
            name: pick(TEXTS),
            port: any(PORTS),
            protocol: pick(['TCP', 'tcp', ...TEXTS]),
            nodePort: any(PORTS),
          },
        ],
        [{ name: 'a', port: 80, protocol: 'TCP', nodePort: any(PORTS) }],
        [
          { name: pick(TEXTS), port: 80, protocol: 'TCP' },
          { name: pick(TEXTS), port: 80, protocol: 'TCP' },
        ],
        null,
        'x',
        [null],
        [[]],
      ]),
    },
    status: {
      loadBalancer: { ingress: pick<unknown>([[{ ip: stolen }], [null], 'x', [{ ip: 7 }]]) },
    },
  }
}

function hostileSlice(serial: number, { pick, any }: Dice): ApiObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `h${serial}-${pick(TEXTS).slice(0, 200)}`,
      namespace: 'hostile',
      labels: { 'kubernetes.io/service-name': `h${serial}-${pick(TEXTS).slice(0, 200)}` },
    },
    addressType: pick<unknown>(['IPv4', 'IPv4', 'IPv6', 'FQDN', null, ...TEXTS.slice(0, 3)]),
    endpoints: pick<unknown>([
      [{ addresses: [any(ADDRESSES)], conditions: { ready: pick<unknown>([true, 'yes', null]) } }],
      [{ addresses: any(ADDRESSES) }, { addresses: ['10.180.2.99'], nodeName: pick(TEXTS) }],
      [{ addresses: ['10.180.2.99'], hints: { forZones: [{ name: pick(TEXTS) }, null, 'x'] } }],
      [null],
      'x',
      null,
    ]),
    ports: pick<unknown>([
      [{ name: pick(TEXTS), port: any(PORTS), protocol: pick(['TCP', ...TEXTS.slice(0, 3)]) }],
      [{ name: 'a', port: 80, protocol: 'TCP' }],
      null,
      [null],
      'x',
    ]),
  }
}

/** A small deterministic generator (mulberry32): numbers in [0, 1). */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
