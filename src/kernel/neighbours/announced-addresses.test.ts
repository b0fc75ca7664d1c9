import { expect, test } from 'vitest'
import { formatIp, type IpAddress, ipBytes } from '../../lib/ip.ts'
import { AnnouncedAddresses, type OutgoingPacket } from './announced-addresses.ts'
import { decodeArp, encodeArp } from './arp.ts'
import { formatMac } from './mac-address.ts'
import {
  decodeNeighbourMessage,
  encodeNeighbourMessage,
  ND,
  solicitedNodeGroup,
} from './neighbour-discovery.ts'

const FOUR = '192.0.2.50' as IpAddress
const SIX = '2001:db8::50' as IpAddress
const CLIENT_4 = '192.0.2.2' as IpAddress
const CLIENT_6 = '2001:db8::2' as IpAddress
const OWN = Buffer.from('020000000001', 'hex')
const CLIENT = Buffer.from('020000000002', 'hex')
const OTHER = Buffer.from('020000000099', 'hex')
const FOREVER = Number.POSITIVE_INFINITY
const ANY = '0.0.0.0' as IpAddress

function announced(...ips: readonly (readonly [IpAddress, number])[]): AnnouncedAddresses {
  const addresses = new AnnouncedAddresses()
  addresses.restart(OWN, 0)
  addresses.replace(new Map(ips), 0)
  return addresses
}

function arp(operation: number, senderMac: Uint8Array, sender: IpAddress, target: IpAddress) {
  const [senderIp, targetIp] = [ipBytes(sender), ipBytes(target)]
  return encodeArp({ operation, senderMac, senderIp, targetMac: new Uint8Array(6), targetIp })
}

function solicitation(source: IpAddress, target: IpAddress, linkAddress?: Uint8Array): Uint8Array {
  return encodeNeighbourMessage({
    type: ND.solicitation,
    source: ipBytes(source),
    destination: solicitedNodeGroup(ipBytes(target)),
    target: ipBytes(target),
    solicited: false,
    override: false,
    linkAddress,
  })
}

function advertisement(target: IpAddress, linkAddress?: Uint8Array): Uint8Array {
  return encodeNeighbourMessage({
    type: ND.advertisement,
    source: ipBytes(target),
    destination: ipBytes('ff02::1' as IpAddress),
    target: ipBytes(target),
    solicited: false,
    override: true,
    linkAddress,
  })
}

const toMac = ({ to }: OutgoingPacket) => formatMac(to)

test('the answer to a request is sent to the one who requests', () => {
  const addresses = announced([FOUR, FOREVER])
  const { answer } = addresses.receiveArp(arp(1, CLIENT, CLIENT_4, FOUR), 0)
  expect(toMac(answer!)).toBe('02:00:00:00:00:02')
  expect(decodeArp(answer!.packet)).toEqual({
    operation: 2,
    senderMac: Uint8Array.from(OWN),
    senderIp: ipBytes(FOUR),
    targetMac: Uint8Array.from(CLIENT),
    targetIp: ipBytes(CLIENT_4),
  })
})

test('a probe of a host that wants the address is answered, and is no conflict', () => {
  const addresses = announced([FOUR, FOREVER], [SIX, FOREVER])
  const { answer, ...rest } = addresses.receiveArp(arp(1, OTHER, ANY, FOUR), 0)
  expect([toMac(answer!), rest]).toEqual(['02:00:00:00:00:99', {}])
  const detection = solicitation('::' as IpAddress, SIX)
  const reply = addresses.receiveNeighbourMessage(detection, OTHER, 0)
  expect(toMac(reply.answer!)).toBe('33:33:00:00:00:01')
  const message = decodeNeighbourMessage(reply.answer!.packet)!
  expect([formatIp(message.destination), message.solicited, message.override]).toEqual([
    'ff02::1',
    false,
    true,
  ])
  expect(reply.isConflict).toBeUndefined()
})

test.each([
  ['with the option', CLIENT, '02:00:00:00:00:02'],
  ['without it, to the sender of the frame', undefined, '02:00:00:00:00:99'],
])('the answer to a solicitation %s', (_, option, to) => {
  const addresses = announced([SIX, FOREVER])
  const { answer } = addresses.receiveNeighbourMessage(
    solicitation(CLIENT_6, SIX, option),
    OTHER,
    0,
  )
  expect(toMac(answer!)).toBe(to)
  expect(decodeNeighbourMessage(answer!.packet)).toMatchObject({
    source: ipBytes(SIX),
    destination: ipBytes(CLIENT_6),
    target: ipBytes(SIX),
    solicited: true,
    override: true,
    linkAddress: Uint8Array.from(OWN),
  })
})

test('own messages that a loop of the network brings back have no effect', () => {
  const addresses = announced([FOUR, FOREVER], [SIX, FOREVER])
  expect(addresses.receiveArp(arp(1, OWN, FOUR, FOUR), 0)).toEqual({})
  expect(addresses.receiveNeighbourMessage(advertisement(SIX, OWN), OTHER, 0)).toEqual({})
  expect(addresses.receiveNeighbourMessage(advertisement(SIX), OWN, 0)).toEqual({})
})

test.each([
  ['a reply', 2],
  ['a request that announces it', 1],
])('%s with an address of the set is a conflict, and is not answered', (_, operation) => {
  const addresses = announced([FOUR, FOREVER])
  expect(addresses.receiveArp(arp(operation, OTHER, FOUR, FOUR), 0)).toEqual({
    isConflict: true,
    report: { ip: FOUR, mac: '02:00:00:00:00:99' },
  })
})

test('a conflict is reported once a minute for each address, with the latest host', () => {
  const addresses = announced([FOUR, FOREVER], [SIX, FOREVER])
  const claim = (now: number) => addresses.receiveArp(arp(2, OTHER, FOUR, CLIENT_4), now).report
  expect(claim(0)).toBeDefined()
  expect(claim(59_999)).toBeUndefined()
  expect(
    addresses.receiveNeighbourMessage(advertisement(SIX, OTHER), CLIENT, 59_999).report,
  ).toEqual({
    ip: SIX,
    mac: '02:00:00:00:00:99',
  })
  expect(claim(60_000)).toBeDefined()
})

test('a conflict is met with one announcement in ten seconds', () => {
  const addresses = announced([FOUR, FOREVER])
  for (const now of [0, 1_000, 2_000]) expect(addresses.takeDue(now)).toHaveLength(2)
  const claim = (now: number) => addresses.receiveArp(arp(2, OTHER, FOUR, FOUR), now)
  claim(5_000)
  expect(addresses.nextAt()).toBe(5_000)
  expect(addresses.takeDue(5_000)).toHaveLength(2)
  claim(14_999)
  expect([addresses.nextAt(), addresses.takeDue(14_999)]).toEqual([FOREVER, []])
  claim(15_000)
  expect(addresses.takeDue(15_000)).toHaveLength(2)
})

test('gratuitous ARP has both forms; the reply has its sender as target', () => {
  const [request, reply] = announced([FOUR, FOREVER]).takeDue(0)
  const both = { senderMac: Uint8Array.from(OWN), senderIp: ipBytes(FOUR), targetIp: ipBytes(FOUR) }
  const zero = new Uint8Array(6)
  expect(decodeArp(request!.packet)).toEqual({ ...both, operation: 1, targetMac: zero })
  expect(decodeArp(reply!.packet)).toEqual({ ...both, operation: 2, targetMac: both.senderMac })
  expect([request, reply].map((packet) => toMac(packet!))).toEqual(
    Array(2).fill('ff:ff:ff:ff:ff:ff'),
  )
})

test('an address is neither answered nor announced from its time on', () => {
  const addresses = announced([FOUR, 1_000], [SIX, 1_000])
  const requests = (now: number) => [
    addresses.receiveArp(arp(1, CLIENT, CLIENT_4, FOUR), now).answer,
    addresses.receiveNeighbourMessage(solicitation(CLIENT_6, SIX), CLIENT, now).answer,
  ]
  addresses.takeDue(0)
  expect(requests(999.9)).not.toContain(undefined)
  expect(addresses.nextAt()).toBe(1_000)
  expect(requests(1_000)).toEqual([undefined, undefined])
  expect(addresses.takeDue(1_000)).toEqual([])
  expect([addresses.expire(1_000), addresses.expire(1_000)]).toEqual([true, false])
  expect([addresses.list(), addresses.nextAt()]).toEqual([[], FOREVER])
})

test('an address that had expired unnoticed is announced anew', () => {
  const addresses = announced([FOUR, 500])
  addresses.takeDue(0)
  addresses.replace(new Map([[FOUR, FOREVER]]), 600)
  expect(addresses.takeDue(600)).toHaveLength(2)
})

test('of many addresses, 64 are announced in one turn, each of them three times', () => {
  const ips = Array.from({ length: 150 }, (_, index) => `192.0.2.${index + 1}` as IpAddress)
  const addresses = announced(...ips.map((ip) => [ip, FOREVER] as const))
  const turns: number[] = []
  for (let now = 0; now < 5_000; now += 100) {
    while (addresses.nextAt() <= now) turns.push(addresses.takeDue(now).length / 2)
  }
  expect(turns).toEqual([64, 64, 22, 64, 64, 22, 64, 64, 22])
})

test('what cannot be read is ignored', () => {
  const addresses = announced([FOUR, FOREVER], [SIX, FOREVER])
  expect(addresses.receiveArp(arp(1, CLIENT, CLIENT_4, FOUR).subarray(1), 0)).toEqual({
    isIgnored: true,
  })
  const cut = solicitation(CLIENT_6, SIX).subarray(0, 60)
  expect(addresses.receiveNeighbourMessage(cut, CLIENT, 0)).toEqual({ isIgnored: true })
})
