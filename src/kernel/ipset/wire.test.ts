import { expect, test } from 'vitest'
import type { Cidr, IpAddress } from '../../lib/ip.ts'
import { align, decodeMessages, type OutgoingMessage } from '../netlink/message.ts'
import { decodeMembers, encodeChange } from './change.ts'
import {
  decodeHeader,
  decodeName,
  decodeProtocol,
  decodeRevision,
  encodeCreate,
  encodeMembersDump,
  encodeRevisionQuestion,
  HEADERS_DUMP,
  NAMES_DUMP,
  PROTOCOL_QUESTION,
} from './netlink-sets.ts'
import type { Member, SetType } from './sets.ts'
import * as captured from './testing/fixtures.ts'
import { encodeCommand } from './wire.ts'

const hex = ({ payload }: OutgoingMessage) => payload.toString('hex')
const messageOf = (bytes: string | Buffer) => {
  const [message] = decodeMessages(typeof bytes === 'string' ? Buffer.from(bytes, 'hex') : bytes)
  if (message === undefined) throw new Error('not a message')
  return message
}

const web: Member = {
  ip: '10.96.0.1' as IpAddress,
  protocol: 'TCP',
  port: 80,
  net: '192.168.0.0/16' as Cidr,
  timeout: 50,
  mark: { value: 0x4000, mask: 0xffff },
}
const dns: Member = { ip: 'fd00::2' as IpAddress, protocol: 'UDP', port: 53 }
const type: SetType = {
  type: 'hash:ip,port,net',
  family: 4,
  maxElements: 1_048_576,
  hashSize: 2048,
  timeout: 60,
  counters: true,
  withMark: true,
}

test('commands have these bytes', () => {
  expect(hex(encodeCreate('A', type, 7))).toBe(
    '02000000050001000600000006000200410000001500' +
      '0300686173683a69702c706f72742c6e6574000000000500040007000000050005000200000024000780' +
      '08001340001000000800124000000800080006400000003c0800084000000048',
  )
  expect(hex(encodeChange('add', 'A', web))).toBe(
    '0200000005000100060000000600020041000000480007800c000180080001400a6000010600044000500000' +
      '05000700060000000c00148008000140c0a8000005001500100000000800064000000032' +
      '0c001b40000040000000ffff',
  )
  expect(hex(encodeChange('delete', 'A', web))).toBe(
    '0200000005000100060000000600020041000000340007800c000180080001400a6000010600044000500000' +
      '05000700060000000c00148008000140c0a800000500150010000000',
  )
  expect(hex(encodeCommand('flush', 'ABC'))).toBe('0200000005000100060000000800020041424300')
})

test.each([
  ['create', captured.CREATE, encodeCreate('A', type, 8)],
  ['add', captured.ADD, encodeChange('add', 'A', web)],
  ['add in IPv6', captured.ADD_V6, encodeChange('add', 'B', dns)],
  [
    'delete',
    captured.DELETE,
    encodeChange('delete', 'A', { ...web, ip: '10.96.0.9' as IpAddress }),
  ],
  ['destroy', captured.DESTROY, encodeCommand('destroy', 'L')],
  ['list headers', captured.HEADERS, HEADERS_DUMP],
  ['request a type', captured.TYPE, encodeRevisionQuestion('hash:ip,port,net', 4)],
])('%s has the bytes of the ipset program', (_, bytes, ours) => {
  const theirs = messageOf(bytes)
  expect(ours.type).toBe(theirs.type)
  expect(meaning(ours.payload)).toEqual(meaning(theirs.payload))
})

test('the requests of names, one set and the protocol have these bytes', () => {
  expect(hex(NAMES_DUMP)).toBe('0200000005000100060000000800064000000002')
  expect(hex(encodeMembersDump('A'))).toBe('0200000005000100060000000600020041000000')
  expect([PROTOCOL_QUESTION.type, hex(PROTOCOL_QUESTION)]).toEqual([
    0x0601,
    '020000000500010006000000',
  ])
})

test('reads captured answers', () => {
  const list = messageOf(captured.LIST)
  expect(decodeName(list)).toBe('A')
  expect(decodeHeader(list)).toEqual(['A', { ...type, references: 0, entries: 4, memory: 1064 }])
  expect(decodeMembers(list)).toEqual([
    { ...web, timeout: 49 },
    {
      ip: '10.96.0.2',
      protocol: 'UDP',
      port: 53,
      net: '10.0.0.0/8',
      timeout: 59,
    },
  ])
  const six = messageOf(captured.LIST_V6)
  expect(decodeHeader(six)?.[1]).toMatchObject({ family: 6, timeout: undefined, counters: false })
  expect(decodeMembers(six)).toEqual([{ ip: 'fd00::1', protocol: 'SCTP', port: 5000 }, dns])
  const sets = messageOf(captured.LIST_OF_SETS)
  expect(decodeHeader(sets)).toMatchObject(['L', { type: 'list:set', family: undefined }])
  expect(decodeMembers(sets)).toEqual([])
  expect(decodeProtocol(messageOf(captured.PROTOCOL_ANSWER))).toEqual({ newest: 7, oldest: 6 })
})

test('the revision with marks is chosen, or the nearest that the kernel has', () => {
  const answer = (newest: number, oldest: number) => {
    const message = Buffer.from(captured.TYPE_ANSWER, 'hex')
    message[message.length - 12] = newest
    message[message.length - 4] = oldest
    return messageOf(message)
  }
  expect(decodeRevision(messageOf(captured.TYPE_ANSWER), 'hash:ip,port,net')).toBe(7)
  expect(decodeRevision(answer(3, 0), 'hash:ip,port,net')).toBe(3)
  expect(decodeRevision(answer(12, 9), 'hash:ip,port,net')).toBe(9)
  expect(decodeRevision(messageOf(captured.LIST), 'hash:ip,port,net')).toBeUndefined()
})

type Meaning = readonly [type: string, value: string | readonly Meaning[]]

/** Attributes in no order, without our older protocol (1) and ipset's line numbers (9). */
function meaning(payload: Buffer): readonly Meaning[] {
  const top = attributes(payload.subarray(4))
  return top.filter(([type]) => type !== '1')
}

function attributes(bytes: Buffer): readonly Meaning[] {
  const found: Meaning[] = []
  for (let at = 0; at + 4 <= bytes.length; at += align(bytes.readUInt16LE(at))) {
    const type = bytes.readUInt16LE(at + 2)
    const value = bytes.subarray(at + 4, at + bytes.readUInt16LE(at))
    const isNested = (type & 0x8000) !== 0
    if (type === 0x4009) continue
    found.push([type.toString(16), isNested ? attributes(value) : value.toString('hex')])
  }
  return found.toSorted(([a], [b]) => (a < b ? -1 : 1))
}
