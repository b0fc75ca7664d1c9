import type { EntryId, ForwardingEntry, Frontend } from '../../../src/forwarding/entry.ts'
import type { Family } from '../../../src/lib/ip.ts'
import { backend, cidr, entry, frontend, ip } from '../../../src/modes/testing/mode-fixtures.ts'

/** Addresses of one family by number, so that both families get the same shapes. */
function addresses(family: Family) {
  return {
    vip: (n: number) =>
      ip(family === 4 ? `172.30.${n >> 8}.${n & 255}` : `fd00:172::${n.toString(16)}`),
    outer: (n: number) => ip(family === 4 ? `203.0.113.${n}` : `2001:db8::${n.toString(16)}`),
    pod: (n: number) =>
      backend(family === 4 ? `10.180.${n >> 8}.${n & 255}` : `fd00:10::${n.toString(16)}`),
    ranges:
      family === 4
        ? ['0.0.0.0/0', '198.51.100.0/25', '192.0.2.7/32'].map(cidr)
        : ['::/0', '2001:db8:1::/48', '2001:db8::7/128'].map(cidr),
  }
}

/** Entries of every form that rendering distinguishes, of one family. */
export function everyShape(family: Family): readonly ForwardingEntry[] {
  const { vip, outer, pod, ranges } = addresses(family)
  const pools = { cluster: [pod(1), pod(2), pod(3)], local: [pod(2)] }
  const shapes: Partial<ForwardingEntry>[] = []
  const addShape = (overrides: Partial<ForwardingEntry>) => shapes.push({ pools, ...overrides })
  for (const protocol of ['TCP', 'UDP', 'SCTP'] as const) {
    const clusterIP = frontend({ ip: vip(shapes.length + 1) })
    addShape({ protocol, frontends: [clusterIP] })
    addShape({ protocol, frontends: [{ ...clusterIP, port: 81 }], affinity: { seconds: 10_800 } })
    const shared = { seconds: 10_800, isShared: true } as const
    addShape({ protocol, frontends: [{ ...clusterIP, port: 84 }], affinity: shared })
    const none = { cluster: [], local: [] }
    addShape({ protocol, frontends: [{ ...clusterIP, port: 82 }], pools: none })
    addShape({
      protocol,
      frontends: [{ ...clusterIP, port: 83, pool: 'local' }],
      pools: { ...pools, local: [] },
    })
    addShape({ protocol, frontends: externals(outer(shapes.length + 1), 'cluster') })
    addShape({ protocol, frontends: externals(outer(shapes.length + 1), 'local') })
    addShape({
      protocol,
      frontends: externals(outer(shapes.length + 1), 'local'),
      pools: none,
      healthCheckPort: 32_000 + shapes.length,
    })
  }
  addShape({
    frontends: [frontend({ ip: vip(999) })],
    pools: { cluster: Array.from({ length: 40 }, (_, n) => pod(n + 10)), local: [] },
  })
  return shapes.map((shape, n) =>
    entry({ id: `ns/s${n}:p/${family}` as EntryId, family, ...shape }),
  )

  function externals(address: Frontend['ip'], pool: 'cluster' | 'local'): readonly Frontend[] {
    const common = {
      pool,
      shortCircuit: pool === 'local',
      masquerade: pool === 'local' ? 'onNode' : 'always',
    } as const
    return [
      frontend({ ...common, kind: 'nodePort', ip: 'node', port: 30_000 + shapes.length }),
      frontend({ ...common, kind: 'externalIP', ip: address, port: 8443 }),
      frontend({ ...common, kind: 'loadBalancerIP', ip: address, sourceRanges: ranges.slice(1) }),
      frontend({ ...common, kind: 'loadBalancerIP', ip: address, port: 444, sourceRanges: ranges }),
      frontend({ ...common, kind: 'loadBalancerIP', ip: address, port: 445, sourceRanges: [] }),
    ]
  }
}

/** Many Services whose addresses and ports split the dispatch trees in every way. */
export function manyServices(family: Family, count: number, random: () => number) {
  const pick = (limit: number) => Math.floor(random() * limit)
  const { pod } = addresses(family)
  return Array.from({ length: count }, (_, n): ForwardingEntry => {
    const protocol = (['TCP', 'TCP', 'UDP', 'SCTP'] as const)[pick(4)] ?? 'TCP'
    const address =
      family === 4
        ? `${pick(2) === 0 ? '172.30' : `${11 + pick(200)}.${pick(256)}`}.${pick(256)}.${pick(256)}`
        : `${pick(2) === 0 ? 'fd00:172' : `2001:${pick(65_536).toString(16)}`}::${pick(65_536).toString(16)}:${pick(65_536).toString(16)}`
    const ports = [frontend({ ip: ip(address), port: 1 + pick(65_535) })]
    if (pick(3) === 0) {
      ports.push(frontend({ kind: 'nodePort', ip: 'node', port: 30_000 + n, masquerade: 'always' }))
    }
    return entry({
      id: `ns/many-${n}:p/${family}` as EntryId,
      family,
      protocol,
      frontends: ports,
      pools: { cluster: pick(4) === 0 ? [] : [pod(1 + pick(200)), pod(300)], local: [] },
    })
  })
}
