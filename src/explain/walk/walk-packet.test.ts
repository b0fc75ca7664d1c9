import { expect, test } from 'vitest'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { branchOf, type Verdict } from '../packet/branch.ts'
import type { HookFunction } from '../packet/hook-function.ts'
import type { Hook, PacketState } from '../packet/packet-state.ts'
import { translate } from '../packet/packet-state.ts'
import { type FakeNode, fakeFacts, fakeRouting } from '../testing/fake-world.ts'
import { type WalkStart, walkPacket } from './walk-packet.ts'

const ip = (text: string) => text as IpAddress
const net = (text: string) => text as Cidr
const NODE: FakeNode = {
  local: [ip('192.168.0.2'), ip('127.0.0.1')],
  routes: [
    { to: net('10.180.0.0/16'), dev: 'cbr0' },
    { to: net('0.0.0.0/0'), dev: 'lo', mark: 7 },
    { to: net('0.0.0.0/0'), dev: 'eth0', via: ip('192.168.0.1') },
  ],
}
const START: WalkStart = {
  family: 4,
  protocol: 'TCP',
  src: ip('203.0.113.2'),
  srcPort: undefined,
  dst: ip('10.96.0.1'),
  dstPort: 80,
  inInterface: 'eth0',
}
const LOCAL: WalkStart = { ...START, src: undefined, inInterface: undefined }

function walk(functions: readonly HookFunction[], start: WalkStart, node: Partial<FakeNode> = {}) {
  const all = { ...NODE, ...node }
  return walkPacket({ functions, routing: fakeRouting(all), facts: fakeFacts(all) }, start)
}

interface Behaviour {
  readonly isNat?: boolean
  readonly priority?: number
  readonly reroutesMarks?: boolean
}

function at(
  hook: Hook,
  change: (packet: PacketState) => PacketState,
  { isNat = false, priority = 0, ...rest }: Behaviour = {},
): HookFunction {
  return {
    hook,
    families: [4],
    priority,
    isNat,
    source: hook,
    ...rest,
    apply: (packet) => [branchOf(change(packet))],
  }
}

function decides(hook: Hook, verdict: Verdict, source = 'test'): HookFunction {
  const steps = [{ where: source, text: verdict.kind }]
  return {
    hook,
    families: [4],
    priority: 0,
    isNat: false,
    source,
    apply: (packet) => [branchOf(packet, verdict, steps)],
  }
}

const toPod = (last: string) => (packet: PacketState) =>
  translate(packet, 'destination', { ip: ip(`10.180.0.${last}`), port: 8080 })
const dnat = (hook: Hook, last = '1', priority = -100) =>
  at(hook, toPod(last), { isNat: true, priority })
const snat = (hook: Hook) =>
  at(hook, (packet) => translate(packet, 'source', { ip: ip('192.168.0.2') }), {
    isNat: true,
    priority: 100,
  })

test('a packet without rules is forwarded as it is', async () => {
  expect(await walk([], START)).toMatchObject([
    {
      probability: 1,
      kind: 'delivered',
      to: 'forwarded',
      src: '203.0.113.2',
      outInterface: 'eth0',
    },
  ])
})

test('the first translation counts: of two at prerouting that of the smaller priority', async () => {
  const [found] = await walk([dnat('prerouting', '2', -99), dnat('prerouting', '1')], START)
  expect(found).toMatchObject({ dst: { ip: '10.180.0.1', port: 8080 }, outInterface: 'cbr0' })
})

test('nat functions run at the point of conntrack, whatever their own priority', async () => {
  const seen: string[] = []
  const spy = at('prerouting', (packet) => (seen.push(packet.dst), packet), { priority: -101 })
  await walk([dnat('prerouting', '1', -500), spy], START)
  expect(seen).toEqual(['10.96.0.1'])
})

test('a local process is routed again after translation, and keeps its source', async () => {
  const [found] = await walk([dnat('output')], LOCAL)
  expect(found).toMatchObject({
    src: '192.168.0.2',
    dst: { ip: '10.180.0.1' },
    outInterface: 'cbr0',
  })
})

test('over loopback no translation is decided twice', async () => {
  const functions = [dnat('prerouting'), snat('postrouting'), dnat('input')]
  const [found] = await walk(functions, { ...LOCAL, dst: ip('127.0.0.1') })
  expect(found).toMatchObject({
    kind: 'delivered',
    to: 'local',
    dst: { ip: '127.0.0.1', port: 80 },
  })
})

test('a mark changes the route only where the function reroutes', async () => {
  const mark = (packet: PacketState) => ({ ...packet, mark: 7 })
  const [kept] = await walk([at('output', mark)], LOCAL)
  expect(kept).toMatchObject({ to: 'forwarded' })
  const [rerouted] = await walk([at('output', mark, { reroutesMarks: true })], LOCAL)
  expect(rerouted).toMatchObject({ to: 'local' })
})

test('a known connection repeats its translation, whatever the rules say now', async () => {
  const known = {
    dnat: { ip: ip('10.180.0.9'), port: 1 },
    snat: { ip: ip('192.168.0.2'), port: 2 },
    mark: 0,
  }
  const [found] = await walk([dnat('prerouting')], { ...START, known })
  expect(found).toMatchObject({ src: '192.168.0.2', dst: { ip: '10.180.0.9', port: 1 } })
})

test('accept ends one function, not the hook', async () => {
  const functions = [
    decides('forward', { kind: 'accept' }),
    decides('forward', { kind: 'drop' }, 'foreign'),
  ]
  expect(await walk(functions, START)).toMatchObject([{ kind: 'silent', by: 'foreign' }])
})

test('rejection, uncertainty and sockets end the way', async () => {
  const reject = decides('forward', { kind: 'reject', how: 'tcp-reset' })
  expect(await walk([reject], START)).toMatchObject([{ kind: 'refused', how: 'tcp-reset' }])
  const unclear = decides('input', { kind: 'uncertain', reason: 'limit' })
  const here = { ...START, dst: ip('192.168.0.2') }
  expect(await walk([unclear], here)).toMatchObject([{ kind: 'uncertain', reason: 'limit' }])
  expect(await walk([], here, { listening: [] })).toMatchObject([
    { kind: 'refused', how: 'tcp-reset' },
  ])
  expect(await walk([], here, { listening: ['TCP/192.168.0.2/80'] })).toMatchObject([
    { to: 'local' },
  ])
})

test('without forwarding the packet is dropped silently', async () => {
  expect(await walk([], START, { forwarding: false })).toMatchObject([{ kind: 'silent' }])
})

test('a source that its receiver has itself is never answered', async () => {
  const start = { ...START, src: ip('10.180.0.1'), inInterface: 'cbr0' }
  expect(await walk([dnat('prerouting')], start)).toMatchObject([{ kind: 'silent' }])
  expect(await walk([dnat('prerouting'), snat('postrouting')], start)).toMatchObject([
    { kind: 'delivered', src: '192.168.0.2' },
  ])
})

test('answers to 127.0.0.1 come back only with route_localnet', async () => {
  const start = { ...LOCAL, src: ip('127.0.0.1'), dst: ip('127.0.0.1') }
  const functions = [dnat('output'), snat('postrouting')]
  expect(await walk(functions, start)).toMatchObject([{ kind: 'silent' }])
  expect(await walk(functions, start, { routeLocalnet: true })).toMatchObject([
    { kind: 'delivered' },
  ])
  expect(await walk([dnat('output')], start, { routeLocalnet: true })).toMatchObject([
    { kind: 'silent' },
  ])
})

test('probabilities of equal outcomes are added', async () => {
  const choice: HookFunction = {
    hook: 'prerouting',
    families: [4],
    priority: -100,
    isNat: true,
    source: 'random',
    apply: (packet) =>
      ['1', '2', '1'].map((last) => ({ ...branchOf(toPod(last)(packet)), probability: 1 / 3 })),
  }
  const found = await walk([choice], START)
  expect(found.map(({ probability }) => probability)).toEqual([2 / 3, 1 / 3])
})

test('what IPVS takes leaves by output and postrouting, and is delivered if it is addressed to this node', async () => {
  const take = (dst: string): HookFunction => ({
    hook: 'input',
    families: [4],
    priority: 99,
    isNat: false,
    source: 'ipvs',
    apply: (packet) => [
      branchOf(
        { ...packet, dst: ip(dst), virtualServer: { ip: packet.dst, port: packet.dstPort } },
        { kind: 'taken' },
      ),
    ],
  })
  const start = { ...START, dst: ip('192.168.0.2') }
  expect(await walk([take('10.180.0.4'), snat('postrouting')], start)).toMatchObject([
    { to: 'forwarded', dst: { ip: '10.180.0.4' }, src: '192.168.0.2', outInterface: 'cbr0' },
  ])
  expect(await walk([take('127.0.0.1')], start)).toMatchObject([{ to: 'local' }])
})

test.each([
  [
    'TCP/10.96.0.1/80',
    { kind: 'silent', by: expect.stringContaining('10.96.0.1 is not an address') },
  ],
  ['TCP/10.96.0.1/80/transparent', { kind: 'delivered', to: 'local' }],
  ['TCP/10.96.0.1/81', { kind: 'silent', by: expect.stringContaining('no socket listens') }],
])(
  'of an address that the node does not have, %s alone answers if transparent',
  async (socket, outcome) => {
    const mark = at('output', (packet) => ({ ...packet, mark: 7 }), { reroutesMarks: true })
    expect(await walk([mark], LOCAL, { listening: [socket] })).toMatchObject([outcome])
  },
)
