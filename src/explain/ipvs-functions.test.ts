import { expect, test } from 'vitest'
import type { RealServerState, VirtualServer, VirtualServerId } from '../kernel/ipvs/ipvs.ts'
import type { IpAddress } from '../lib/ip.ts'
import type { IpvsSnapshot } from './ipvs-functions.ts'
import { ipvsFunctions } from './ipvs-functions.ts'
import { firstPacket, type PacketState } from './packet/packet-state.ts'
import { parseTemplates } from './world/local-readers.ts'

/** Every address is one of this node. */
const LOCAL = { addressType: () => 'local' as const }

const ip = (text: string) => text as IpAddress
const VIP: VirtualServerId = { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port: 80 }
const PACKET = firstPacket({
  family: 4,
  protocol: 'TCP',
  src: ip('10.0.0.2'),
  srcPort: undefined,
  dst: ip('10.96.0.1'),
  dstPort: 80,
  inInterface: 'cbr0',
})

const COUNTERS = {
  connections: 0,
  incomingPackets: 7,
  outgoingPackets: 0,
  incomingBytes: 420,
  outgoingBytes: 0,
}

function server(last: number, more: Partial<RealServerState> = {}): RealServerState {
  return {
    ip: ip(`10.180.0.${last}`),
    port: 8080,
    weight: 1,
    forwarding: 'masquerade',
    upperThreshold: 0,
    lowerThreshold: 0,
    activeConnections: 0,
    inactiveConnections: 0,
    persistentConnections: 0,
    counters: COUNTERS,
    ...more,
  }
}

function service(
  id: VirtualServerId,
  more: Partial<VirtualServer['settings']> = {},
): VirtualServer {
  return {
    id,
    counters: COUNTERS,
    settings: { scheduler: 'rr', flags: [], persistence: undefined, ...more },
  }
}

function snapshot(more: Partial<IpvsSnapshot>): IpvsSnapshot {
  return { services: [], templates: [], tracksConnections: true, expiresQuiescent: false, ...more }
}

function schedule(given: IpvsSnapshot, packet: PacketState = PACKET) {
  const branches = ipvsFunctions(given, LOCAL)[0]?.apply(packet) ?? []
  return branches.map((one) => [one.packet.dst, one.probability, one.verdict.kind])
}

test('rr shares evenly, and a server of weight 0 or at its threshold gets nothing', () => {
  const full = server(4, { upperThreshold: 2, activeConnections: 1, inactiveConnections: 1 })
  const servers = [server(1), server(2, { weight: 3 }), server(3, { weight: 0 }), full]
  expect(schedule(snapshot({ services: [{ service: service(VIP), servers }] }))).toEqual([
    ['10.180.0.1', 0.5, 'taken'],
    ['10.180.0.2', 0.5, 'taken'],
  ])
})

test('wrr shares by weight', () => {
  const servers = [server(1), server(2, { weight: 3 })]
  const services = [{ service: service(VIP, { scheduler: 'wrr' }), servers }]
  expect(schedule(snapshot({ services })).map(([, share]) => share)).toEqual([0.25, 0.75])
})

test.each(['wlc', 'sed', 'nq', 'sh', 'mh', 'twos'])('%s shares by weight as well', (scheduler) => {
  const servers = [server(1), server(2, { weight: 3 }), server(3, { weight: 0 })]
  const services = [{ service: service(VIP, { scheduler }), servers }]
  expect(schedule(snapshot({ services })).map(([, share]) => share)).toEqual([0.25, 0.75])
})

test.each(['dh', 'lblc', 'lblcr'])(
  '%s goes by the destination, so the share of each server is uncertain',
  (scheduler) => {
    const servers = [server(1), server(2, { weight: 3 })]
    const given = snapshot({ services: [{ service: service(VIP, { scheduler }), servers }] })
    expect(schedule(given)).toEqual([['10.96.0.1', 1, 'uncertain']])
    const [branch] = ipvsFunctions(given, LOCAL)[0]?.apply(PACKET) ?? []
    expect(branch?.steps).toMatchObject([{ text: 'how its scheduler chooses is not modelled' }])
    const only = [{ service: service(VIP, { scheduler }), servers: [server(1)] }]
    expect(schedule(snapshot({ services: only }))).toEqual([['10.180.0.1', 1, 'taken']])
  },
)

test('without a server the packet is rejected', () => {
  const services = [{ service: service(VIP), servers: [] }]
  expect(schedule(snapshot({ services }))).toEqual([['10.96.0.1', 1, 'reject']])
})

test('the mark comes before the address, port 0 last; others pass', () => {
  const services = [
    { service: service({ ...VIP, port: 0 }), servers: [server(1, { port: 0 })] },
    { service: service(VIP), servers: [server(2)] },
    { service: service({ family: 4, mark: 9 }), servers: [server(3)] },
  ]
  const given = snapshot({ services })
  expect(schedule(given, { ...PACKET, mark: 9 })[0]?.[0]).toBe('10.180.0.3')
  expect(schedule(given)[0]?.[0]).toBe('10.180.0.2')
  expect(schedule(given, { ...PACKET, dstPort: 81 })[0]?.[0]).toBe('10.180.0.1')
  expect(schedule(given, { ...PACKET, dst: ip('10.96.0.2') })).toEqual([
    ['10.96.0.2', 1, 'continue'],
  ])
  expect(schedule(given, { ...PACKET, protocol: 'UDP' })).toEqual([['10.96.0.1', 1, 'continue']])
})

test('a persistence template decides, at weight 0 unless that ends it', () => {
  const templates =
    parseTemplates(`Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData
TCP 0A000002 0000 0A600001 0050 0AB40002 1F90 NONE           359
TCP 0A000002 C001 0A600001 0050 0AB40001 1F90 ESTABLISHED    899`)
  expect(templates).toHaveLength(1)
  const persistence = { seconds: 360, prefix: 32 }
  const servers = [server(1), server(2, { weight: 0 })]
  const services = [{ service: service(VIP, { persistence }), servers }]
  expect(schedule(snapshot({ services, templates }))).toEqual([['10.180.0.2', 1, 'taken']])
  const [kept] = ipvsFunctions(snapshot({ services, templates }), LOCAL)[0]?.apply(PACKET) ?? []
  expect(kept?.steps).toMatchObject([{ where: 'ipvs', secondsLeft: 359 }])
  const expires = snapshot({ services, templates, expiresQuiescent: true })
  expect(schedule(expires)).toEqual([['10.180.0.1', 1, 'taken']])
  expect(schedule(snapshot({ services, templates }), { ...PACKET, src: ip('10.0.0.3') })).toEqual([
    ['10.180.0.1', 1, 'taken'],
  ])
})

const V6_PACKET = firstPacket({
  family: 6,
  protocol: 'TCP',
  src: ip('fd00::2'),
  srcPort: undefined,
  dst: ip('fd00:96::1'),
  dstPort: 80,
  inInterface: 'cbr0',
})
const V6_SERVERS = [server(1, { ip: ip('fd00:180::1') }), server(2, { ip: ip('fd00:180::2') })]

test.each([
  '[fd00::2] 0000 [fd00:96::1] 0050 [fd00:180::2] 1F90',
  'fd00:0000:0000:0000:0000:0000:0000:0002 0000 fd00:0096:0000:0000:0000:0000:0000:0001 0050 fd00:0180:0000:0000:0000:0000:0000:0002 1F90',
])('a persistence template of IPv6 is read: %s', (addresses) => {
  const templates = parseTemplates(`TCP ${addresses} NONE           359`)
  const persistence = { seconds: 360, prefix: 128 }
  const id: VirtualServerId = { family: 6, protocol: 'TCP', ip: ip('fd00:96::1'), port: 80 }
  const services = [{ service: service(id, { persistence }), servers: V6_SERVERS }]
  expect(schedule(snapshot({ services, templates }), V6_PACKET)).toEqual([
    ['fd00:180::2', 1, 'taken'],
  ])
})

test('a persistence template by mark has the mark in the first bytes of its virtual address, and no ports', () => {
  const templates = parseTemplates(`IP  0A000002 0000 0A010203 0000 0AB40002 0000 NONE           359
IP  fd00:0000:0000:0000:0000:0000:0000:0002 0000 0a01:0203:0000:0000:0000:0000:0000:0000 0000 fd00:0180:0000:0000:0000:0000:0000:0002 0000 NONE           359`)
  const mark = 0x0a010203
  const services = [
    {
      service: service({ family: 4, mark }, { persistence: { seconds: 360, prefix: 32 } }),
      servers: [server(1), server(2)],
    },
    {
      service: service({ family: 6, mark }, { persistence: { seconds: 360, prefix: 128 } }),
      servers: V6_SERVERS,
    },
  ]
  const given = snapshot({ services, templates })
  expect(schedule(given, { ...PACKET, mark })).toEqual([['10.180.0.2', 1, 'taken']])
  expect(schedule(given, { ...V6_PACKET, mark })).toEqual([['fd00:180::2', 1, 'taken']])
})

test('a persistent virtual server by mark or with port 0 sends to the port that the client used', () => {
  const persistence = { seconds: 360, prefix: 32 }
  const portOf = (id: VirtualServerId, more: Partial<VirtualServer['settings']>) => {
    const services = [{ service: service(id, more), servers: [server(1)] }]
    const [branch] =
      ipvsFunctions(snapshot({ services }), LOCAL)[0]?.apply({ ...PACKET, mark: 9 }) ?? []
    return branch?.packet.dstPort
  }
  expect(portOf({ family: 4, mark: 9 }, { persistence })).toBe(80)
  expect(portOf({ ...VIP, port: 0 }, { persistence })).toBe(80)
  expect(portOf({ family: 4, mark: 9 }, {})).toBe(8080)
  expect(portOf(VIP, { persistence })).toBe(8080)
})

test('without conntrack what IPVS forwards is not tracked', () => {
  const services = [{ service: service(VIP), servers: [server(1)] }]
  const [branch] =
    ipvsFunctions(snapshot({ services, tracksConnections: false }), LOCAL)[0]?.apply(PACKET) ?? []
  expect(branch?.packet).toMatchObject({
    connection: { status: 'untracked' },
    virtualServer: { ip: '10.96.0.1' },
  })
})

test('other forwarding methods and unknown schedulers are uncertain', () => {
  const direct = [{ service: service(VIP), servers: [server(1, { forwarding: 'tunnel' })] }]
  expect(schedule(snapshot({ services: direct }))[0]?.[2]).toBe('uncertain')
  const strange = [{ service: service(VIP, { scheduler: 'new' }), servers: [server(1)] }]
  expect(schedule(snapshot({ services: strange }))[0]?.[2]).toBe('uncertain')
})

test('without a real server a client of an address that the node does not have hears nothing', () => {
  const given = snapshot({ services: [{ service: service(VIP), servers: [] }] })
  const verdictAt = (type: 'local' | 'unicast') =>
    ipvsFunctions(given, { addressType: () => type })[0]?.apply(PACKET)[0]?.verdict
  expect(verdictAt('local')).toEqual({ kind: 'reject', how: 'icmp-port-unreachable' })
  expect(verdictAt('unicast')).toMatchObject({
    kind: 'drop',
    reason: expect.stringContaining('is not an address of this node'),
  })
})
