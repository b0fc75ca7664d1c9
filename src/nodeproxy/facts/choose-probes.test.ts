import { create } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { type Entry, EntrySchema } from '../../inspection/generated/inspection_pb.ts'
import type { IpAddress } from '../../lib/ip.ts'
import type { DesiredRules } from '../inspection/desired-state.ts'
import { chooseProbes, type Senders } from './read-packets.ts'
import { SampledEntries } from './sampled-entries.ts'

const ip = (text: string) => text as IpAddress
const RULES: DesiredRules = {
  mode: 'iptables',
  ownPorts: [],
  masqueradeAll: false,
  localhostNodePorts: false,
  localAddresses: [ip('192.168.0.2'), ip('192.168.9.9')],
  nodePortScope: { kind: 'all' },
  localTraffic: { by: 'none' },
}
const SENDERS: Senders = {
  pods: [
    { src: ip('10.0.0.1'), inInterface: 'cbr0' },
    { src: ip('10.0.0.9'), inInterface: 'cbr0' },
  ],
  outside: [
    { src: ip('192.168.0.1'), inInterface: 'eth0' },
    { src: ip('203.0.113.77'), inInterface: 'eth0' },
    { src: ip('2001:db8:ffff::77'), inInterface: 'eth0' },
  ],
  client: undefined,
  node: [ip('198.51.100.1'), ip('192.168.0.2'), ip('192.168.9.9')],
}

/** `10.0.0.1!` is on this node, `10.1.0.1` elsewhere. */
function entry(name: string, backends: readonly string[], frontend: object = {}): Entry {
  return create(EntrySchema, {
    id: `ns/${name}:/TCP/4`,
    service: `ns/${name}`,
    protocol: 'TCP',
    family: 4,
    frontends: [
      {
        kind: 'clusterIP',
        ip: '172.30.0.1',
        port: 80,
        pool: 'cluster',
        admitsAll: true,
        ...frontend,
      },
    ],
    backends: backends.map((text) => ({
      ip: text.replace('!', ''),
      port: 80,
      isLocal: text.endsWith('!'),
      inClusterPool: true,
      inLocalPool: text.endsWith('!'),
    })),
  })
}

function sampled(...entries: readonly Entry[]): SampledEntries {
  const sample = new SampledEntries()
  for (const one of entries) sample.take(one)
  return sample
}

const shown = (sample: SampledEntries, senders = SENDERS, rules = RULES) =>
  chooseProbes(sample, senders, rules).map(
    ({ purpose, source, dst, port }) => `${purpose} ${source?.src ?? 'node'} ${dst} ${port}`,
  )

test('a Pod that is no backend of the Service sends, and the node itself', () => {
  expect(shown(sampled(entry('a', ['10.0.0.1!', '10.1.0.1'])))).toEqual([
    'fromPod 10.0.0.9 172.30.0.1 80',
    'fromNode node 172.30.0.1 80',
    'toLoopback 192.168.0.1 127.0.0.1 10249',
  ])
})

test('every client outside of the family sends to a node port, at an address that serves it', () => {
  const nodePort = entry('a', ['10.1.0.1'], { kind: 'nodePort', ip: 'node', port: 30_080 })
  const of = (rules: DesiredRules) =>
    shown(sampled(nodePort), SENDERS, rules).filter((line) => line.startsWith('fromOutside'))
  expect(of(RULES)).toEqual([
    'fromOutside 192.168.0.1 192.168.0.2 30080',
    'fromOutside 203.0.113.77 192.168.0.2 30080',
  ])
  const scope = { kind: 'addresses', addresses: [ip('192.168.9.9')] } as const
  expect(of({ ...RULES, nodePortScope: scope })[0]).toBe(
    'fromOutside 192.168.0.1 192.168.9.9 30080',
  )
  expect(of({ ...RULES, nodePortScope: { kind: 'addresses', addresses: [] } })).toEqual([])
})

test('a client that is named sends to all that is meant for clients outside', () => {
  const balancer = { kind: 'loadBalancerIP', ip: '1.2.3.4', pool: 'local' }
  const sample = sampled(
    entry('here', ['10.0.0.1!'], balancer),
    entry('elsewhere', ['10.1.0.1'], balancer),
    entry('closed', ['10.0.0.1!'], { ...balancer, admitsAll: false, sourceRanges: ['10.0.0.0/8'] }),
  )
  const client = { src: ip('203.0.113.5'), inInterface: 'eth0' }
  const lines = shown(sample, { ...SENDERS, client })
  expect(lines.filter((line) => line.startsWith('fromClient'))).toHaveLength(4)
  expect(lines).toContain('noLocalEndpoint 203.0.113.77 1.2.3.4 80')
  expect(lines.filter((line) => line.startsWith('noLocalEndpoint'))).toHaveLength(1)
})

test('of ten thousand entries the best few are kept: here and elsewhere, and few backends', () => {
  const sample = sampled(
    ...Array.from({ length: 10_000 }, (_, at) => entry(`s${at}`, ['10.1.0.1'])),
    entry('huge', ['10.0.0.1!', ...Array.from({ length: 100 }, (_, at) => `10.2.0.${at}`)]),
    entry('none', []),
    entry('best', ['10.0.0.1!', '10.1.0.1']),
  )
  expect(sample.clusterIps.map(({ entry: { service } }) => service)).toEqual([
    'ns/best',
    'ns/s0',
    'ns/s1',
  ])
  expect([...sample.localBackends.keys()]).toEqual(['TCP 10.0.0.1 80'])
})

test('owners of node ports, and affinity', () => {
  const sample = sampled(entry('a', [], { kind: 'nodePort', ip: 'node', port: 30_080 }), {
    ...entry('b', []),
    affinitySeconds: 60,
  })
  expect([...sample.nodePortOwners]).toEqual([['TCP/30080', 'ns/a:/TCP/4']])
  expect([...sample.affinitySeconds]).toEqual([['ns/b:/TCP/4', 60]])
})
