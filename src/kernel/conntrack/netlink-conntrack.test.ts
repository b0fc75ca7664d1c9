import { constants } from 'node:os'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { type IpAddress, ipBytes, parseIp } from '../../lib/ip.ts'
import { encodeAttribute, nest } from '../netlink/attribute.ts'
import { decodeMessages, encodeMessage, NLM_F_DUMP_INTR, NLMSG_DONE } from '../netlink/message.ts'
import { errorMessage, FakeTransport, incoming } from '../netlink/testing/fake-transport.ts'
import type { FlowFilter } from './conntrack.ts'
import {
  addressNumber,
  backendOf,
  decodeFlow,
  destinationNumberOf,
  destinationPortOf,
  encodeFlowDeletion,
  encodeFlowDump,
} from './flow.ts'
import { NetlinkConntrack } from './netlink-conntrack.ts'

/** Captured: UDP 10.0.0.1:5000 → 10.96.0.10:53, answered by 10.1.0.4:5353. */
const CAPTURED =
  'c00000000001220001000000ef05000802000000' +
  '3400018014000180080001000a000001080002000a60000a1c0002800500010011000000060002001388000006000300' +
  '003500003400028014000180080001000a010004080002000a0000011c00028005000100110000000600020014e90000' +
  '06000300138800000800030000000008080008000000000008000c002512579508000b00000000010800070000000063' +
  '1c001880080001000000000008000200000000000800030000000000'

const captured = Buffer.from(CAPTURED, 'hex')
const ip = (text: string) => parseIp(text) as IpAddress
const filter = (change: Partial<FlowFilter> = {}): FlowFilter => ({
  family: 4,
  protocol: 'UDP',
  ip: ip('10.96.0.10'),
  port: 53,
  keep: new Set(),
  ...change,
})

function decodeOne(bytes: Buffer) {
  const [message] = decodeMessages(bytes)
  const flow = message && decodeFlow(message)
  if (flow === undefined) throw new Error('not a flow')
  return flow
}

/** A kernel that holds one flow and records what it had to delete. */
function setUp(flow: Buffer = captured) {
  const transport = new FakeTransport()
  const deleted: string[] = []
  transport.onSend = (bytes) => {
    const messages = [...decodeMessages(bytes)]
    const seq = messages.at(-1)?.seq ?? 0
    if (messages[0]?.type === 0x0101) {
      const object = Buffer.from(flow)
      object.writeUInt32LE(seq, 8)
      transport.receive(object)
      transport.receive(incoming({ type: NLMSG_DONE, flags: 2, payload: Buffer.alloc(4) }, seq))
    } else {
      deleted.push(...messages.map(({ payload }) => payload.toString('hex')))
      transport.receive(errorMessage(seq, 0))
    }
  }
  return { transport, deleted, conntrack: new NetlinkConntrack(transport.open, systemClock) }
}

test('requests the flows of a protocol and port only', () => {
  const dump = encodeFlowDump({ family: 4, protocol: 'UDP', port: 53 })
  expect(encodeMessage({ ...dump, flags: 0x301 }, 1).toString('hex')).toBe(
    '400000000101010301000000000000000200000018000180140002800500010011000000060003000035000014001980' +
      '0800010028000000' +
      '0800020000000000',
  )
})

test('reads a captured flow', () => {
  const flow = decodeOne(captured)
  expect(flow.original).toMatchObject({ protocol: 17, sourcePort: 5000, destinationPort: 53 })
  expect(backendOf(flow)).toBe('10.1.0.4:5353')
})

test('a deletion names the tuple and the id of the flow', async () => {
  const { conntrack, deleted } = setUp()
  expect(await conntrack.cut([filter()])).toEqual({ deleted: 1 })
  expect(deleted).toEqual([`02000000${CAPTURED.slice(40, 40 + 104)}08000c0025125795`])
})

test.each([
  ['another port', { port: 54 }],
  ['another address', { ip: ip('10.96.0.11') }],
  ['another protocol', { protocol: 'TCP' }],
  ['a backend that stays', { keep: new Set(['10.1.0.4:5353']) }],
] as const)('leaves flows to %s alone', async (_, change) => {
  const { conntrack, deleted } = setUp()
  expect(await conntrack.cut([filter(change)])).toEqual({ deleted: 0 })
  expect(deleted).toEqual([])
})

test('flows to a node port are deleted, except those that other programs masquerade', async () => {
  expect(await setUp().conntrack.cut([filter({ ip: 'node' })])).toEqual({ deleted: 1 })
  const direct = Buffer.from(captured)
  // The answering side is the destination: 10.96.0.10:53, a process of this node.
  Buffer.from([10, 96, 0, 10]).copy(direct, direct.indexOf('0a010004', 'hex'))
  direct.writeUInt16BE(53, direct.indexOf('14e9', 'hex'))
  const [original, backend] = [decodeOne(direct).original, backendOf(decodeOne(direct))]
  expect([original.destinationPort, backend]).toEqual([53, '10.96.0.10:53'])
  expect(await setUp(direct).conntrack.cut([filter({ ip: 'node' })])).toEqual({ deleted: 1 })
  expect(await setUp(direct).conntrack.cut([filter()])).toEqual({ deleted: 1 })
  const masqueraded = Buffer.from(direct)
  masqueraded.writeUInt16BE(5001, masqueraded.lastIndexOf(Buffer.from('1388', 'hex')))
  expect(decodeOne(masqueraded).reply.destinationPort).toBe(5001)
  expect(await setUp(masqueraded).conntrack.cut([filter({ ip: 'node' })])).toEqual({ deleted: 0 })
})

test('several ports of a protocol are one dump, families and protocols are apart', async () => {
  const { conntrack, transport } = setUp()
  await conntrack.cut([
    filter({ port: 1 }),
    filter({ port: 2 }),
    filter({ protocol: 'SCTP', port: 3 }),
    filter({ family: 6, ip: ip('fd00::1'), port: 4 }),
  ])
  expect(transport.sent.map((bytes) => bytes[16])).toEqual([2, 2, 10])
})

test('what a flow was sent to is known before it is decoded, for both families', () => {
  const [four] = decodeMessages(captured)
  expect(destinationNumberOf(four!)).toBe(addressNumber(ip('10.96.0.10')))
  const ends = [ip('2001:db8::1'), ip('fd00::10')].map((one, at) =>
    encodeAttribute(3 + at, Buffer.from(ipBytes(one))),
  )
  const tuple = nest(1, nest(1, ...ends), nest(2, encodeAttribute(3, Buffer.from([0, 53]))))
  const six = { payload: Buffer.concat([Buffer.from([10, 0, 0, 0]), tuple]) }
  expect([destinationPortOf(six), destinationNumberOf(six)]).toEqual([
    53,
    addressNumber(ip('fd00::10')),
  ])
  expect(addressNumber(ip('fd00::10'))).not.toBe(addressNumber(ip('fd00::11')))
  expect(destinationNumberOf({ payload: Buffer.alloc(4) })).toBe(-1)
})

test('without filters no socket is opened', async () => {
  const { conntrack, transport } = setUp()
  expect(await conntrack.cut([])).toEqual({ deleted: 0 })
  expect(transport.sent).toEqual([])
})

test('a repeated dump deletes each flow once', async () => {
  const { conntrack, transport, deleted } = setUp()
  const answer = transport.onSend
  transport.onSend = (bytes) => {
    if (transport.sent.length > 1) return answer(bytes)
    const seq = bytes.readUInt32LE(8)
    const object = Buffer.from(captured)
    object.writeUInt32LE(seq, 8)
    object.writeUInt16LE(NLM_F_DUMP_INTR, 6)
    transport.receive(object)
    transport.receive(incoming({ type: NLMSG_DONE, flags: 2, payload: Buffer.alloc(4) }, seq))
  }
  expect(await conntrack.cut([filter()])).toEqual({ deleted: 1 })
  expect(transport.sent).toHaveLength(3)
  expect(deleted).toHaveLength(1)
})

test('a flow that ended meanwhile is not counted, any other refusal is an error', async () => {
  const refusing = (errno: number, of: number) => {
    const { conntrack, transport } = setUp()
    const answer = transport.onSend
    transport.onSend = (bytes) =>
      bytes.readUInt16LE(4) === of
        ? transport.receive(errorMessage(bytes.readUInt32LE(8), errno))
        : answer(bytes)
    return conntrack.cut([filter()])
  }
  expect(await refusing(2, 0x0102)).toEqual({ deleted: 0 })
  const error = { code: 'NP_KERNEL_NETLINK', hint: 'run with CAP_NET_ADMIN' }
  await expect(refusing(1, 0x0102)).rejects.toMatchObject(error)
  await expect(refusing(1, 0x0101)).rejects.toMatchObject(error)
  const { EINVAL, ENOMEM } = constants.errno
  await expect(refusing(EINVAL, 0x0101)).rejects.toMatchObject({
    hint: 'load the kernel module: modprobe nf_conntrack_netlink',
  })
  await expect(refusing(ENOMEM, 0x0101)).rejects.toMatchObject({
    message: 'conntrack: list refused: ENOMEM',
    hint: undefined,
  })
})

test('damaged flows are skipped without an exception', () => {
  fc.assert(
    fc.property(fc.nat(captured.length - 21), fc.nat(255), (at, value) => {
      const damaged = Buffer.from(captured)
      damaged[20 + at] = value
      for (const message of decodeMessages(damaged)) {
        expect(destinationPortOf(message)).toBeLessThan(65_536)
        const flow = decodeFlow(message)
        expect(flow === undefined || backendOf(flow).includes(':')).toBe(true)
        if (flow !== undefined) encodeFlowDeletion(4, flow)
      }
    }),
    { numRuns: 2000 },
  )
})

test('counting finds what a cut would delete, and deletes nothing', async () => {
  const { conntrack, deleted } = setUp()
  expect(await conntrack.count([filter(), filter({ port: 54 })])).toBe(1)
  expect(await conntrack.count([filter({ keep: new Set(['10.1.0.4:5353']) })])).toBe(0)
  expect(deleted).toEqual([])
  expect(await conntrack.cut([filter()])).toEqual({ deleted: 1 })
})

test('a refused flow is deleted, but not one that a socket of this node has accepted for a Service', async () => {
  const isolated = new Set([ip('10.0.0.1')])
  const refused = setUp()
  expect(await refused.conntrack.cutRefused(isolated, () => true)).toEqual({ deleted: 1 })
  const backend = ipBytes(ip('10.1.0.4'))
  const redirected = Buffer.from(captured)
  redirected.set(ipBytes(ip('10.96.0.10')), captured.indexOf(backend))
  expect(backendOf(decodeOne(redirected))).toBe('10.96.0.10:5353')
  const kept = setUp(redirected)
  expect(await kept.conntrack.cutRefused(isolated, () => true)).toEqual({ deleted: 0 })
  expect(kept.deleted).toEqual([])
})

test('a flow is judged by its ends after the translation, whichever of them is isolated', async () => {
  const judge = async (own: string) => {
    const { conntrack, deleted } = setUp()
    const judged: unknown[] = []
    const found = await conntrack.cutRefused(new Set([ip(own)]), (flow) => judged.push(flow) > 0)
    expect(found.deleted).toBe(deleted.length)
    return judged
  }
  const ends = { source: '10.0.0.1', destination: '10.1.0.4', protocol: 'UDP', port: 5353 }
  expect(await judge('10.0.0.1')).toEqual([ends])
  expect(await judge('10.1.0.4')).toEqual([ends])
  expect(await judge('10.96.0.10')).toEqual([])
})

test('refused flows are listed for the families of the addresses, and for each protocol', async () => {
  const listed = async (...own: readonly string[]) => {
    const { conntrack, transport } = setUp()
    await conntrack.cutRefused(new Set(own.map(ip)), () => false)
    return transport.sent.map((bytes) => [bytes[16], bytes[32]])
  }
  const [tcp, udp, sctp] = [6, 17, 132]
  const ofIpv4 = [tcp, udp, sctp].map((protocol) => [2, protocol])
  const ofIpv6 = [tcp, udp, sctp].map((protocol) => [10, protocol])
  expect(await listed('10.0.0.1')).toEqual(ofIpv4)
  expect(await listed('fd00::1')).toEqual(ofIpv6)
  expect(await listed('fd00::1', '10.0.0.1')).toEqual([...ofIpv4, ...ofIpv6])
})
