import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import {
  decodeMessages,
  type NetlinkMessage,
  NLM_F_DUMP_INTR,
  NLMSG_DONE,
} from '../netlink/message.ts'
import { errorMessage, FakeTransport, incoming } from '../netlink/testing/fake-transport.ts'
import { NetlinkSets } from './netlink-sets.ts'
import type { SetCommand, SetType } from './sets.ts'
import * as captured from './testing/fixtures.ts'

const LIST = 7
const ADD = 9
const TYPE = 13
const web: SetType = { type: 'hash:ip,port', family: 4, maxElements: 9 }
const create = (name: string, type = web): SetCommand => ({ do: 'create', name, type })
const add = (i: number): SetCommand => ({
  do: 'add',
  name: 'A',
  member: { ip: `10.0.${i >> 8}.${i & 255}` as IpAddress },
})

/** Records the commands it got; `answer` may refuse one with an errno. */
function setUp(answer: (command: number, message: NetlinkMessage) => number = () => 0) {
  const transport = new FakeTransport()
  const got: number[] = []
  transport.onSend = (bytes) => {
    const messages = [...decodeMessages(bytes)]
    const acknowledged = messages.at(-1)?.seq ?? 0
    for (const message of messages) {
      const command = message.type & 0xff
      got.push(command)
      const errno = answer(command, message)
      if (errno !== 0) transport.receive(errorMessage(message.seq, errno))
      else if (command === TYPE) reply(captured.TYPE_ANSWER, message.seq)
      if (errno === 0 && message.seq === acknowledged) {
        const end = command === LIST ? doneMessage(message.seq) : errorMessage(message.seq, 0)
        transport.receive(end)
      }
    }
  }
  const reply = (hex: string, seq: number, flags = 2) => {
    const bytes = Buffer.from(hex, 'hex')
    bytes.writeUInt32LE(seq, 8)
    bytes.writeUInt16LE(flags, 6)
    transport.receive(bytes)
  }
  return { transport, got, reply, sets: new NetlinkSets(transport.open, systemClock) }
}

function doneMessage(seq: number): Buffer {
  return incoming({ type: NLMSG_DONE, flags: 2, payload: Buffer.alloc(4) }, seq)
}

test('many commands are few datagrams, and a refusal has the index of its command', async () => {
  const { sets, transport } = setUp((_, { payload }) =>
    payload.includes(Buffer.from([10, 0, 1, 4])) ? 4352 : 0,
  )
  const refusals = await sets.run(Array.from({ length: 600 }, (_, i) => add(i)))
  expect(refusals).toEqual([
    { index: 260, errno: 4352, message: 'A is full: create it again with a larger maxelem' },
  ])
  expect(transport.sent.map((bytes) => [...decodeMessages(bytes)].length)).toEqual([256, 256, 88])
})

test('the revision of a type is requested once, of a type that is not there again', async () => {
  const kernel = setUp()
  await kernel.sets.run([create('A'), create('B'), create('C', { ...web, family: 6 })])
  await kernel.sets.run([create('D')])
  expect(kernel.got).toEqual([TYPE, TYPE, 2, 2, 2, 2])
  const without = setUp((command) => (command === TYPE ? 2 : 4098))
  for (const _ of [1, 2]) {
    expect(await without.sets.run([create('A')])).toMatchObject([
      { message: 'the kernel has no set type hash:ip,port for IPv4: modprobe ip_set_hash_ipport' },
    ])
  }
  expect(without.got).toEqual([TYPE, 2, TYPE, 2])
})

test('a name that would mean all sets, or none, is never sent', async () => {
  const { sets, got } = setUp()
  const refusals = await sets.run([
    { do: 'destroy', name: '' },
    add(1),
    { do: 'flush', name: 'with blank' },
    create('N'.repeat(32)),
  ])
  expect(refusals.map(({ index, errno }) => [index, errno])).toEqual([
    [0, 22],
    [2, 22],
    [3, 22],
  ])
  expect(await sets.members('')).toBeUndefined()
  expect(got).toEqual([ADD])
})

test('destroying an absent set is no error', async () => {
  const { sets } = setUp(() => 2)
  expect(await sets.run([{ do: 'destroy', name: 'A' }])).toEqual([])
  expect(await sets.run([{ do: 'flush', name: 'A' }])).toMatchObject([{ errno: 2 }])
})

test.each([
  [17, 'another type'],
  [22, 'modprobe ip_set'],
  [1, 'CAP_NET_ADMIN'],
  [4099, '65,534 sets'],
  [4100, 'in use'],
  [4711, 'create A: ipset error 4711'],
  [28, 'create A: ENOSPC'],
])('errno %i has words', async (errno, words) => {
  const { sets } = setUp((command) => (command === TYPE ? 0 : errno))
  const [refusal] = await sets.run([create('A')])
  expect(refusal).toMatchObject({ index: 0, errno })
  expect(refusal?.message).toContain(words)
})

test('names, headers and members are read, with a prefix, however often a dump is repeated', async () => {
  const { sets, reply, transport } = setUp((command, { seq }) => {
    if (command !== LIST) return 0
    const flags = transport.sent.length % 2 === 1 ? NLM_F_DUMP_INTR : 2
    for (const hex of [captured.LIST, captured.LIST_V6, captured.LIST_OF_SETS])
      reply(hex, seq, flags)
    return 0
  })
  expect(await sets.names('')).toEqual(['A', 'B', 'L'])
  expect(await sets.names('B')).toEqual(['B'])
  expect([...(await sets.headers('L'))]).toMatchObject([['L', { type: 'list:set', entries: 0 }]])
  expect((await sets.members('A'))?.map(({ ip }) => ip)).toEqual([
    '10.96.0.1',
    '10.96.0.2',
    'fd00::1',
    'fd00::2',
  ])
  expect(transport.sent).toHaveLength(8)
})

test('the members of an absent set are undefined', async () => {
  const { sets } = setUp(() => 2)
  expect(await sets.members('A')).toBeUndefined()
})

test.each([
  [22, 'modprobe ip_set'],
  [1, 'run with CAP_NET_ADMIN'],
])('a kernel that answers %i to a question is an error with a hint', async (errno, hint) => {
  const { sets } = setUp(() => errno)
  const error = { code: 'NP_KERNEL_IPSET', hint }
  await expect(sets.names('')).rejects.toMatchObject(error)
  await expect(sets.members('A')).rejects.toMatchObject(error)
  await expect(sets.protocolVersion()).rejects.toMatchObject(error)
})

test('on a kernel without netfilter netlink commands are refused and reading throws', async () => {
  const none = () => {
    throw new NodeProxyError('NP_KERNEL_NETLINK', 'netlink family 12 cannot be opened')
  }
  const sets = new NetlinkSets(none, systemClock)
  const error = { code: 'NP_KERNEL_IPSET', hint: 'modprobe ip_set' }
  await expect(sets.protocolVersion()).rejects.toMatchObject(error)
  const [first, second] = await sets.run([create('A'), add(1)])
  expect([first, second]).toMatchObject([{ index: 0 }, { index: 1 }])
  expect(first?.message).toContain('modprobe ip_set')
})

test('lost answers are an error', async () => {
  const { sets, transport } = setUp()
  transport.onSend = () => sets.close()
  await expect(sets.run([add(1)])).rejects.toMatchObject({ code: 'NP_KERNEL_NETLINK' })
})

test('a protocol that the kernel no longer speaks is an error', async () => {
  const version = (newest: number, oldest: number) => {
    const { sets, reply } = setUp((_, { seq }) => {
      const bytes = Buffer.from(captured.PROTOCOL_ANSWER, 'hex')
      bytes[24] = newest
      bytes[32] = oldest
      reply(bytes.toString('hex'), seq)
      return 0
    })
    return sets.protocolVersion()
  }
  expect(await version(7, 6)).toEqual({ newest: 7, oldest: 6 })
  await expect(version(9, 8)).rejects.toThrow('it speaks protocol 8 to 9, not 6')
  await expect(version(5, 5)).rejects.toMatchObject({ code: 'NP_KERNEL_IPSET' })
  await expect(setUp().sets.protocolVersion()).rejects.toThrow('did not report')
})

test('the socket is opened with the first request and after a close', async () => {
  const { sets, transport } = setUp()
  sets.close()
  expect(transport.closed).toBe(false)
  await sets.run([])
  expect(transport.sent).toEqual([])
  await sets.run([add(1)])
  sets.close()
  expect(transport.closed).toBe(true)
  await sets.run([add(1)])
  expect(transport.sent).toHaveLength(2)
})
