import type { Member, SetCommand, SetType } from '../../../src/kernel/ipset/sets.ts'
import type { Cidr, IpAddress } from '../../../src/lib/ip.ts'

/** The requests to the kernel and to its fake, and what both have to answer. */
export interface Step {
  readonly what: string
  readonly commands: readonly SetCommand[]
  /** Index and errno of each command that is refused. */
  readonly refused: readonly (readonly [number, number])[]
}

const ip = (text: string, parts: Partial<Member> = {}): Member => ({
  ip: text as IpAddress,
  ...parts,
})
const net = (text: string) => text as Cidr
const web = { protocol: 'TCP', port: 80 } as const
const add = (name: string, ...members: readonly Member[]): readonly SetCommand[] =>
  members.map((member) => ({ do: 'add', name, member }))
const remove = (name: string, ...members: readonly Member[]): readonly SetCommand[] =>
  members.map((member) => ({ do: 'delete', name, member }))
const create = (name: string, type: SetType): SetCommand => ({ do: 'create', name, type })

const plain: SetType = { type: 'hash:ip', family: 4, maxElements: 3 }
const ports: SetType = { type: 'hash:ip,port', family: 6, maxElements: 1_048_576 }
const nets: SetType = {
  type: 'hash:ip,port,net',
  family: 4,
  maxElements: 1_048_576,
  hashSize: 2048,
  timeout: 600,
  withMark: true,
  counters: true,
}

export const STEPS: readonly Step[] = [
  {
    what: 'a set made again is the same set, whatever its hash size and family',
    commands: [
      create('NP-A', plain),
      create('NP-A', { ...plain, hashSize: 4096 }),
      create('NP-A', { ...plain, family: 6 }),
    ],
    refused: [],
  },
  {
    what: 'another set of the same name is refused, the others are made',
    commands: [
      create('NP-A', { ...plain, type: 'hash:ip,port' }),
      create('NP-A', { ...plain, maxElements: 4 }),
      create('NP-A', { ...plain, timeout: 0 }),
      create('NP-A', { ...plain, withMark: true }),
      create('NP-A', { ...plain, counters: true }),
      create('NP-B', ports),
      create('NP-C', nets),
      create('OTHER', { ...plain, family: 6, hashSize: 1, timeout: 0 }),
    ],
    refused: [0, 1, 2, 3, 4].map((at) => [at, 17]),
  },
  {
    what: 'a name is needed, and has 31 characters at most',
    commands: [
      create('', plain),
      create('N'.repeat(32), plain),
      create('N P', plain),
      { do: 'flush', name: '' },
      { do: 'destroy', name: '' },
      create('N'.repeat(31), plain),
      { do: 'destroy', name: 'N'.repeat(31) },
    ],
    refused: [0, 1, 2, 3, 4].map((at) => [at, 22]),
  },
  {
    what: 'members are added until the set is full; those that are in it may be added again',
    commands: add(
      'NP-A',
      ...['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.1'].map((each) => ip(each)),
    ),
    refused: [[3, 4352]],
  },
  {
    what: 'members of addresses have nothing but an address of the family',
    commands: [
      ...add(
        'NP-A',
        ip('0.0.0.0'),
        ip('fd00::1'),
        ip('192.0.2.1', web),
        ip('192.0.2.1', { port: 1 }),
      ),
      ...add('NP-A', ip('192.0.2.1', { net: net('10.0.0.0/8') }), ip('192.0.2.1', { timeout: 5 })),
      ...add('NP-A', ip('192.0.2.1', { mark: { value: 1, mask: 1 } })),
      ...add('OTHER', ip('::'), ip('192.0.2.1'), ip('fd00::1'), ip('fd00::2', { timeout: 300 })),
    ],
    refused: [
      [0, 4353],
      ...[1, 2, 3, 4].map((at) => [at, 4097] as const),
      [5, 4107],
      [6, 4114],
      [7, 4353],
      [8, 4097],
    ],
  },
  {
    what: 'members of addresses and ports have both, and a protocol',
    commands: add(
      'NP-B',
      ip('fd00::1', web),
      ip('fd00::1', { protocol: 'UDP', port: 80 }),
      ip('fd00::1', { protocol: 'SCTP', port: 65_535 }),
      ip('fd00::9', { protocol: 'TCP', port: 0 }),
      ip('fd00::1', { port: 80 }),
      ip('fd00::1', { protocol: 'TCP' }),
      ip('fd00::1'),
      ip('10.0.0.1', web),
      ip('fd00::1', { ...web, net: net('fd00::/64') }),
    ),
    refused: [[4, 4355], ...[5, 6, 7, 8].map((at) => [at, 4097] as const)],
  },
  {
    what: 'members of addresses, ports and networks; the last addition says timeout and mark',
    commands: add(
      'NP-C',
      ip('10.96.0.1', { ...web, net: net('192.168.0.0/16'), timeout: 100 }),
      ip('10.96.0.1', {
        ...web,
        net: net('192.168.0.0/16'),
        timeout: 0,
        mark: { value: 0x4000, mask: 0xffff_ffff },
      }),
      ip('0.0.0.0', { protocol: 'TCP', port: 0, net: net('0.0.0.0/1') }),
      ip('10.96.0.1', { ...web, net: net('192.0.2.1/32'), mark: { value: 0, mask: 0 } }),
      ip('10.96.0.2', { ...web, net: net('10.0.0.0/8'), mark: { value: 1, mask: 1 } }),
      ip('10.96.0.2', { ...web, net: net('10.0.0.0/8') }),
      ip('10.96.0.1', { ...web, net: net('0.0.0.0/0') }),
      ip('10.96.0.1', { ...web, net: net('fd00::/64') }),
      ip('10.96.0.1', web),
      ip('fd00::1', { ...web, net: net('10.0.0.0/8') }),
      ip('10.96.0.1', { port: 80, net: net('10.0.0.0/8') }),
    ),
    refused: [[6, 4104], ...[7, 8, 9].map((at) => [at, 4097] as const), [10, 4355]],
  },
  {
    what: 'there is nothing to do with a set that is not there',
    commands: [
      ...add('NP-NONE', ip('192.0.2.1')),
      ...remove('NP-NONE', ip('192.0.2.1')),
      { do: 'flush', name: 'NP-NONE' },
      { do: 'destroy', name: 'NP-NONE' },
    ],
    refused: [
      [0, 2],
      [1, 2],
      [2, 2],
    ],
  },
  {
    what: 'members are deleted, absent ones too; timeout and mark do not matter',
    commands: [
      ...remove('NP-A', ip('192.0.2.2'), ip('192.0.2.99'), ip('192.0.2.3', { timeout: 9 })),
      ...remove('NP-B', ip('fd00::1', web), ip('fd00::1', { protocol: 'TCP', port: 81 })),
      ...remove('NP-C', ip('10.96.0.1', { ...web, net: net('192.168.0.0/17') })),
      ...remove('NP-A', ip('fd00::1'), ip('192.0.2.1', web)),
    ],
    refused: [
      [6, 4097],
      [7, 4097],
    ],
  },
]
