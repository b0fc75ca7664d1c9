import type { NodeFacts, WalkFacts, WalkOutcomeFacts } from '../evidence/node-facts.ts'

/** When the facts were read: 2026-01-01. */
export const NOW = 1_767_225_600_000

const NO_COUNTS = { drop: 0, earlyDrop: 0, insertFailed: 0, clashesResolved: 0, reversePath: 0 }

/** How a packet ends; delivered unless given. */
export function outcome(given: Partial<WalkOutcomeFacts> = {}): WalkOutcomeFacts {
  return {
    kind: 'delivered',
    share: 1,
    text: '10.0.0.1:80',
    where: '',
    rule: '',
    packets: -1,
    isOwn: false,
    ...given,
  }
}

/** A packet of a Pod to a Service. */
export function walk(given: Partial<WalkFacts> = {}): WalkFacts {
  return {
    purpose: 'fromPod',
    entry: 'shop/web:/TCP/4',
    service: 'shop/web',
    frontend: 'clusterIP',
    sourceRanges: [],
    src: '10.0.0.2',
    dst: '172.30.0.1',
    port: 80,
    protocol: 'TCP',
    inInterface: 'cbr0',
    desired: 'deliver',
    outcomes: [outcome()],
    ...given,
  }
}

/** A packet of a client outside to a node port. */
export function fromOutside(given: Partial<WalkFacts> = {}): WalkFacts {
  const to = { dst: '192.168.0.2', port: 30_080, frontend: 'nodePort' }
  return walk({ purpose: 'fromOutside', src: '192.168.0.1', inInterface: 'eth0', ...to, ...given })
}

export function link(name: string, given: Partial<NodeFacts['interfaces'][number]> = {}) {
  return {
    name,
    kind: '',
    mtu: 1_500,
    master: '',
    lower: '',
    isUp: true,
    isTunnelV6: false,
    rpFilter: 0,
    ...given,
  }
}

export const CONFIGURATION = {
  mode: 'iptables',
  scheduler: 'rr',
  masqueradeAll: false,
  isOfDaemon: true,
  shared: { clusterCIDR: '"10.0.0.0/8"', detectLocalMode: '"ClusterCIDR"' },
}

/** The facts of a node on which everything works; a test changes some. */
export function healthyNode(given: Partial<NodeFacts> = {}): NodeFacts {
  return {
    format: 1,
    node: 'node-a',
    version: '1',
    kernel: '6.1.0',
    at: NOW,
    unread: [],
    daemon: healthyDaemon(),
    daemonAbsent: '',
    configuration: CONFIGURATION,
    modules: { ip_vs: 'loadable', nf_tables: 'loaded', br_netfilter: 'loaded' },
    hasIpvs: false,
    settings: {
      'net.ipv4.ip_forward': '1',
      'net.ipv4.conf.all.route_localnet': '0',
      'net.bridge.bridge-nf-call-iptables': '1',
      'net.ipv4.ip_local_port_range': '32768 60999',
    },
    interfaces: [
      link('eth0'),
      link('cbr0', { kind: 'bridge' }),
      link('pod0', { kind: 'veth', master: 'cbr0' }),
      link('pod1', { kind: 'veth', master: 'cbr0' }),
    ],
    uplink: 'eth0',
    localBackends: [{ interface: 'cbr0', count: 2 }],
    conntrack: { count: 100, max: 1_000 },
    counters: { before: NO_COUNTS, after: NO_COUNTS, seconds: 1 },
    rules: [{ program: 'iptables-nft', own: 40, others: 3 }],
    masquerades: [],
    proxies: [],
    takenPorts: [],
    connects: [],
    loads: [],
    walks: [walk(), fromOutside(), fromOutside({ src: '203.0.113.77' })],
    ...given,
  }
}

/** Counters; some of them grew within a second. */
export function grown(by: Partial<typeof NO_COUNTS>): NonNullable<NodeFacts['counters']> {
  return { before: NO_COUNTS, after: { ...NO_COUNTS, ...by }, seconds: 1 }
}

export function healthyDaemon(
  given: Partial<NonNullable<NodeFacts['daemon']>> = {},
): NonNullable<NodeFacts['daemon']> {
  return {
    mode: 'iptables',
    isReady: true,
    startedAt: NOW - 3_600_000,
    reasons: [],
    reasonCodes: [],
    warnings: [],
    policies: '0 policies isolate 0 addresses of pods',
    announcements: [],
    routes: [],
    changes: { count: 0, p50: 0, p99: 0 },
    services: 2,
    entries: 2,
    backends: 3,
    refusals: [],
    problems: [],
    credentials: [],
    ...given,
  }
}
