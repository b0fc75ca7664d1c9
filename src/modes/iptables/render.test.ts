import { expect, test } from 'vitest'
import type { EntryId, ForwardingEntry } from '../../forwarding/entry.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { backend, cidr, entry, frontend, ip, settings } from '../testing/mode-fixtures.ts'
import { render } from './render.ts'

/** Rules by chain, `C` for `NPROXY-C-…`; `nat` and `filter` are the dispatched rules. */
function rulesOf(one: ForwardingEntry, given: NetfilterSettings = settings()) {
  const { chains, dispatches } = render(one, given)
  const short = (text: string) =>
    text.replaceAll(/NPROXY-([CLEF])-[\w-]{19}/g, '$1').replaceAll(/NPROXY-A[46]-[\w-]{19}/g, 'SET')
  return Object.fromEntries([
    ...[...chains].map(([chain, rules]) => [short(chain), rules.map(short)]),
    ['nat', dispatches.flatMap((dispatch) => dispatch.nat.map(short))],
    ['filter', dispatches.flatMap((dispatch) => dispatch.filter.map(short))],
  ])
}

const external = frontend({
  kind: 'loadBalancerIP',
  ip: ip('1.2.3.4'),
  masquerade: 'always',
})
const local = frontend({ ...external, pool: 'local', shortCircuit: true, masquerade: 'onNode' })
const onePool = { cluster: [backend('10.180.0.1')], local: [backend('10.180.0.1')] }

test('a ClusterIP has one chain with one rule per backend', () => {
  expect(rulesOf(entry())).toEqual({
    C: [
      '! -s 10.0.0.0/8 -d 172.30.0.41/32 -j MARK --set-xmark 0x4000/0x4000',
      '-p tcp -m statistic --mode random --probability 0.50000000000 -j DNAT --to-destination 10.180.0.1:8080',
      '-p tcp -j DNAT --to-destination 10.180.0.2:8080',
    ],
    nat: ['-d 172.30.0.41/32 -p tcp -m tcp --dport 80 -g C'],
    filter: ['-d 172.30.0.41/32 -p tcp -m tcp --dport 80 -j DROP'],
  })
})

test('without backends it is refused, and has no chain', () => {
  const empty = entry({ pools: { cluster: [], local: [] } })
  expect(rulesOf(empty)).toEqual({
    nat: [],
    filter: ['-d 172.30.0.41/32 -p tcp -m tcp --dport 80 -j REJECT --reject-with tcp-reset'],
  })
  expect(rulesOf({ ...empty, protocol: 'UDP' })['filter']).toEqual([
    '-d 172.30.0.41/32 -p udp -m udp --dport 80 -j REJECT --reject-with icmp-port-unreachable',
  ])
})

test('what is not translated although there are backends is dropped, unless others answer it', () => {
  const filterOf = (one: ForwardingEntry, given?: Partial<NetfilterSettings>) =>
    rulesOf(one, settings(given))['filter']
  const [vip, outer] = ['-d 172.30.0.41/32', '-d 1.2.3.4/32'].map(
    (to) => `${to} -p tcp -m tcp --dport 80 -j DROP`,
  )
  const one = entry({ frontends: [frontend(), external] })
  expect(filterOf(one)).toEqual([vip, outer])
  expect(filterOf(one, { serviceRanges: [cidr('172.30.0.0/16')] })).toEqual([outer])
  const nodePort = frontend({ kind: 'nodePort', ip: 'node', port: 30_080, masquerade: 'always' })
  expect(filterOf(entry({ frontends: [nodePort] }))).toEqual([])
})

test('policy Local without a local backend is silent', () => {
  const one = entry({ frontends: [frontend({ pool: 'local' })] })
  expect(rulesOf(one)).toEqual({
    nat: [],
    filter: ['-d 172.30.0.41/32 -p tcp -m tcp --dport 80 -j DROP'],
  })
})

test('external traffic is marked on its way to the pool', () => {
  const one = entry({ frontends: [external], pools: onePool })
  expect(rulesOf(one)).toEqual({
    C: ['-p tcp -j DNAT --to-destination 10.180.0.1:8080'],
    nat: [
      '-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j MARK --set-xmark 0x4000/0x4000',
      '-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -g C',
    ],
    filter: ['-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j DROP'],
  })
})

test('policy Local: pods and the node take all backends, others the local ones unmasqueraded', () => {
  const one = entry({ frontends: [local], pools: onePool })
  expect(rulesOf(one)).toMatchObject({
    E: [
      '-s 10.0.0.0/8 -g C',
      '-m addrtype --src-type LOCAL -j MARK --set-xmark 0x4000/0x4000',
      '-m addrtype --src-type LOCAL -g C',
      '-g L',
    ],
    L: ['-p tcp -j DNAT --to-destination 10.180.0.1:8080'],
    nat: ['-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -g E'],
    filter: ['-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j DROP'],
  })
})

test('policy Local without a local backend still serves pods and the node', () => {
  const one = entry({ frontends: [local], pools: { ...onePool, local: [] } })
  expect(rulesOf(one)).toMatchObject({
    E: [
      '-s 10.0.0.0/8 -g C',
      '-m addrtype --src-type LOCAL -j MARK --set-xmark 0x4000/0x4000',
      '-m addrtype --src-type LOCAL -g C',
    ],
    filter: ['-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j DROP'],
  })
})

test('source ranges come before everything else', () => {
  const ranged = { ...external, sourceRanges: [cidr('203.0.113.0/25'), cidr('0.0.0.0/0')] }
  expect(rulesOf(entry({ frontends: [ranged], pools: onePool }))).toMatchObject({
    F: ['-s 203.0.113.0/25 -g E', '-g E'],
    E: ['-j MARK --set-xmark 0x4000/0x4000', '-g C'],
    nat: ['-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -g F'],
    filter: ['-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j DROP'],
  })
  const empty = entry({ frontends: [ranged], pools: { cluster: [], local: [] } })
  expect(rulesOf(empty)['filter']).toEqual([
    '-s 203.0.113.0/25 -d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j REJECT --reject-with tcp-reset',
    '-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j REJECT --reject-with tcp-reset',
    '-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j DROP',
  ])
})

test('an empty list of ranges admits no client', () => {
  const one = entry({ frontends: [{ ...external, sourceRanges: [] }], pools: onePool })
  expect(rulesOf(one)).toMatchObject({
    F: [],
    filter: ['-d 1.2.3.4/32 -p tcp -m tcp --dport 80 -j DROP'],
  })
})

test('affinity looks up first, then chooses and remembers', () => {
  const rules = rulesOf(entry({ affinity: { seconds: 60 } }))['C']
  const remember = '-j SET --add-set SET src --exist --timeout 60'
  const known = '-m set --match-set SET src'
  expect(rules?.slice(1)).toEqual([
    `${known} ${remember}`,
    `-p tcp ${known} -j DNAT --to-destination 10.180.0.1:8080`,
    `${known} ${remember}`,
    `-p tcp ${known} -j DNAT --to-destination 10.180.0.2:8080`,
    `-m statistic --mode random --probability 0.50000000000 ${remember}`,
    `-p tcp ${known} -j DNAT --to-destination 10.180.0.1:8080`,
    remember,
    `-p tcp ${known} -j DNAT --to-destination 10.180.0.2:8080`,
    '-p tcp -j DNAT --to-destination 10.180.0.2:8080',
  ])
})

test('entries that share their clients have one set for each Pod, whatever its port', () => {
  const setsOf = (name: string, port: number, isShared?: true) => {
    const affinity = { seconds: 60, ...(isShared && { isShared }) }
    const pools = { cluster: [backend('10.180.0.1', { port })], local: [] }
    const one = entry({ id: `shop/cart:${name}/TCP/4` as EntryId, affinity, pools })
    return [...render(one, settings()).sets.keys()]
  }
  expect(setsOf('http', 8080, true)).toEqual(setsOf('admin', 9090, true))
  expect(setsOf('http', 8080)).not.toEqual(setsOf('admin', 8080))
})

test('each backend has its own set, whichever pool it is in', () => {
  const { sets } = render(entry({ affinity: { seconds: 60 }, pools: onePool }), settings())
  expect([...sets.values()]).toEqual([
    { type: 'hash:ip', family: 4, hashSize: 16_384, maxElements: 262_144, timeout: 0 },
  ])
})

test.each([
  [1, 16_384],
  [3, 8_192],
  [10, 2_048],
  [1_000, 64],
])('the sets of %i backends have %i buckets each, for 65,536 clients', (count, hashSize) => {
  const cluster = Array.from({ length: count }, (_, i) => backend(`10.1.${i >> 8}.${i & 255}`))
  const { sets } = render(
    entry({ affinity: { seconds: 60 }, pools: { cluster, local: [] } }),
    settings(),
  )
  expect([...sets.values()][0]).toMatchObject({ hashSize })
  expect(count * hashSize * 12).toBeGreaterThan(65_536)
})

test('probabilities make every backend equally likely', () => {
  const many = Array.from({ length: 7 }, (_, i) => backend(`10.180.1.${i + 1}`))
  const rules = rulesOf(entry({ pools: { cluster: many, local: [] } }))['C']?.slice(1) ?? []
  let left = 1
  const shares = rules.map((rule: string) => {
    const chance = Number(/--probability ([\d.]+)/.exec(rule)?.[1] ?? 1)
    const share = left * chance
    left -= share
    return share
  })
  for (const share of shares) expect(share).toBeCloseTo(1 / 7, 8)
})

test('masqueradeAll marks ClusterIP traffic of everyone, and only that', () => {
  const one = entry({ frontends: [frontend(), local], pools: onePool })
  const rules = rulesOf(one, settings({ masqueradeAll: true }))
  expect(rules['C']?.[0]).toBe('-d 172.30.0.41/32 -j MARK --set-xmark 0x4000/0x4000')
  expect(rules['L']).toEqual(['-p tcp -j DNAT --to-destination 10.180.0.1:8080'])
})

test.each([
  [{ by: 'bridge', name: 'cbr0' } as const, '-d 172.30.0.41/32 ! -i cbr0 -j MARK'],
  [{ by: 'interfacePrefix', prefix: 'veth' } as const, '-d 172.30.0.41/32 ! -i veth+ -j MARK'],
])('pods are recognised by interface: %o', (localTraffic, rule) => {
  expect(rulesOf(entry(), settings({ localTraffic }))['C']?.[0]).toContain(rule)
})

test('where pods cannot be recognised, ClusterIP clients keep their address', () => {
  const rules = rulesOf(entry(), settings({ localTraffic: { by: 'none' } }))
  expect(rules['C']).toHaveLength(2)
})

test('without BPF each backend has a hairpin rule', () => {
  const rules = rulesOf(entry({ pools: onePool }), settings({ hairpin: 'rules' }))
  expect(rules['C']).toContain('-s 10.180.0.1/32 -j MARK --set-xmark 0x4000/0x4000')
})
