import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Family, IpAddress } from '../../lib/ip.ts'
import {
  keepaliveMessage,
  type Malformed,
  type Message,
  MessageReader,
  notificationMessage,
  openMessage,
  updateMessage,
} from './messages.ts'
import { describeNotification, notification } from './notification.ts'
import type { Open } from './open.ts'

const OPEN: Open = {
  asn: 4_200_000_001,
  hasLongASN: true,
  holdTime: 9,
  routerID: '192.0.2.1' as IpAddress,
  families: [4, 6],
  hasRouteRefresh: true,
}

const octet = fc.integer({ min: 0, max: 255 })
const opens: fc.Arbitrary<Open> = fc
  .record({
    hasLongASN: fc.boolean(),
    asn: fc.integer({ min: 1, max: 0xff_ff_ff_ff }),
    holdTime: fc.constantFrom(0, 3, 9, 90, 65_535),
    routerID: fc.tuple(fc.integer({ min: 1, max: 255 }), octet, octet, octet),
    families: fc.constantFrom<readonly Family[]>([4], [6], [4, 6]),
    hasRouteRefresh: fc.boolean(),
  })
  .map(({ routerID, ...open }) => ({
    ...open,
    asn: open.hasLongASN ? open.asn : 1 + (open.asn % 0xff_ff),
    routerID: routerID.join('.') as IpAddress,
  }))
const frames = fc.oneof(
  opens.map(openMessage),
  fc.constant(keepaliveMessage()),
  fc
    .tuple(octet, octet, fc.uint8Array({ maxLength: 40 }))
    .map(([code, subcode, data]) => notificationMessage(notification(code, subcode, data))),
  fc.constant(updateMessage(Uint8Array.of(0, 2, 8, 10, 0, 4, 0x40, 1, 1, 0, 16, 172, 16))),
  fc.constant(refresh(2)),
)

function refresh(afi: number): Uint8Array {
  const octets = Uint8Array.from([...keepaliveMessage(), 0, afi, 0, 1])
  octets[17] = octets.length
  octets[18] = 5
  return octets
}

function readAll(octets: Uint8Array): readonly (Message | Malformed)[] {
  return new MessageReader().read(octets)
}

function only(octets: Uint8Array): Message | Malformed | undefined {
  const [message, ...more] = readAll(octets)
  expect(more).toEqual([])
  return message
}

/** `code/subcode data` of what the peer is told. */
function fault(octets: Uint8Array): string {
  const message = only(octets)
  if (message?.kind !== 'malformed') return message?.kind ?? 'nothing'
  const { code, subcode, data } = message.notification
  return `${code}/${subcode} ${Buffer.from(data).toString('hex')}`.trim()
}

/** A message with some octets replaced, counted from its start. */
function altered(octets: Uint8Array, changes: Readonly<Record<number, number>>): Uint8Array {
  const copy = Uint8Array.from(octets)
  for (const [at, value] of Object.entries(changes)) copy[Number(at)] = value
  return copy
}

/** An OPEN with these optional parameters. */
function withParameters(...parameters: readonly number[]): Uint8Array {
  const fixed = openMessage({
    ...OPEN,
    asn: 64_512,
    hasLongASN: false,
    hasRouteRefresh: false,
    families: [],
  })
  const octets = Uint8Array.from([...fixed, ...parameters])
  return altered(octets, { 17: octets.length, 28: parameters.length })
}

/** An UPDATE with this body. */
const update = (...body: readonly number[]) => updateMessage(Uint8Array.from(body))

test('an OPEN reads back as it was written, with AS numbers of two octets and of four', () => {
  const check = (open: Open) => {
    expect(only(openMessage(open))).toEqual({ kind: 'open', open })
  }
  fc.assert(fc.property(opens, check))
  expect(openMessage(OPEN).subarray(20, 22)).toEqual(Uint8Array.of(23_456 >> 8, 23_456 & 0xff))
})

test('an OPEN without families is one of IPv4; families that nobody here knows are passed over', () => {
  expect(only(withParameters())).toMatchObject({ open: { families: [4], hasLongASN: false } })
  const others = [2, 12, 1, 4, 0, 1, 0, 128, 1, 4, 0, 2, 0, 1]
  expect(only(withParameters(...others))).toMatchObject({ open: { families: [6] } })
  expect(only(withParameters(2, 4, 70, 0, 73, 0))).toMatchObject({ open: { families: [4] } })
})

test('messages are read from whatever parts they come in', () => {
  const check = (messages: readonly Uint8Array[], sizes: readonly number[]) => {
    const stream = Buffer.concat(messages)
    const reader = new MessageReader()
    const read: (Message | Malformed)[] = []
    for (let at = 0, turn = 0; at < stream.length; turn += 1) {
      const size = sizes[turn % sizes.length]!
      read.push(...reader.read(stream.subarray(at, at + size)))
      at += size
    }
    expect(read).toEqual(messages.map(only))
  }
  const sizes = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 5 })
  fc.assert(fc.property(fc.array(frames, { maxLength: 8 }), sizes, check))
})

describe('the peer is told what is wrong', () => {
  test.each([
    ['the marker', altered(keepaliveMessage(), { 3: 0xfe }), '1/1'],
    ['a length below 19', altered(keepaliveMessage(), { 17: 18 }), '1/2 0012'],
    ['a length above 4096', altered(keepaliveMessage(), { 16: 0x10, 17: 1 }), '1/2 1001'],
    ['such a length of no type', altered(keepaliveMessage(), { 16: 0x13, 18: 9 }), '1/2 1313'],
    ['a KEEPALIVE with a body', altered(keepaliveMessage(), { 17: 20 }), '1/2 0014'],
    ['an OPEN that is too short', altered(openMessage(OPEN), { 17: 28 }), '1/2 001c'],
    ['an UPDATE that is too short', altered(keepaliveMessage(), { 17: 22, 18: 2 }), '1/2 0016'],
    [
      'a NOTIFICATION that is too short',
      altered(keepaliveMessage(), { 17: 20, 18: 3 }),
      '1/2 0014',
    ],
    ['a ROUTE-REFRESH with more', altered(refresh(1), { 17: 24 }), '1/2 0018'],
    ['type 0', altered(keepaliveMessage(), { 18: 0 }), '1/3 00'],
    ['type 6', altered(keepaliveMessage(), { 18: 6 }), '1/3 06'],
    ['version 3', altered(openMessage(OPEN), { 19: 3 }), '2/1 0004'],
    ['AS 0', altered(withParameters(), { 20: 0, 21: 0 }), '2/2'],
    ['AS 0 of four octets', withParameters(2, 6, 65, 4, 0, 0, 0, 0), '2/2'],
    ['router ID 0.0.0.0', altered(openMessage(OPEN), { 24: 0, 25: 0, 26: 0, 27: 0 }), '2/3'],
    ['authentication', withParameters(1, 1, 0), '2/4'],
    ['hold time 1', altered(openMessage(OPEN), { 22: 0, 23: 1 }), '2/6 0001'],
    ['hold time 2', altered(openMessage(OPEN), { 22: 0, 23: 2 }), '2/6 0002'],
    ['parameters that are longer than the OPEN', altered(withParameters(), { 28: 1 }), '2/0'],
    ['a parameter that ends late', withParameters(2, 9, 70, 0), '2/0'],
    ['half a parameter', withParameters(2), '2/0'],
    ['a capability that ends late', withParameters(2, 2, 70, 1), '2/0'],
    ['a family of three octets', withParameters(2, 5, 1, 3, 0, 1, 1), '2/0'],
    ['an AS number of two octets as a capability', withParameters(2, 4, 65, 2, 0, 1), '2/0'],
    ['withdrawn routes that are longer than the UPDATE', update(0, 9, 0, 0), '3/1'],
    ['no octets for the length of attributes', update(0, 1, 0, 0), '3/1'],
    ['attributes that are longer than the UPDATE', update(0, 0, 0, 9), '3/1'],
    ['routes of MP_REACH_NLRI twice', update(0, 0, 0, 6, 0x80, 14, 0, 0x80, 14, 0), '3/1'],
    ['routes of MP_UNREACH_NLRI twice', update(0, 0, 0, 7, 0x90, 15, 0, 0, 0x80, 15, 0), '3/1'],
    ['a prefix of 33 bits', update(0, 0, 0, 0, 33, 1, 1, 1, 1, 1), '3/10'],
    ['half a prefix', update(0, 0, 0, 0, 32, 1, 1), '3/10'],
    ['half a withdrawn prefix', update(0, 2, 24, 1, 0, 0), '3/10'],
  ])('%s', (_what, octets, expected) => {
    expect(fault(octets)).toBe(expected)
  })

  test.each([
    ['an attribute that ends late', update(0, 0, 0, 3, 0x40, 1, 9)],
    ['half an attribute', update(0, 0, 0, 2, 0x40, 1)],
    ['half a long attribute', update(0, 0, 0, 3, 0x50, 1, 0)],
    ['an attribute twice', update(0, 0, 0, 8, 0x40, 1, 1, 0, 0x40, 1, 1, 0)],
  ])('but not %s, which concerns its routes alone (RFC 7606)', (_what, octets) => {
    expect(fault(octets)).toBe('update')
  })

  test('and what comes behind it is not read', () => {
    const wrong = altered(keepaliveMessage(), { 18: 9 })
    const reader = new MessageReader()
    const octets = Buffer.concat([keepaliveMessage(), wrong, keepaliveMessage()])
    expect(reader.read(octets).map(({ kind }) => kind)).toEqual(['keepalive', 'malformed'])
    expect(reader.read(keepaliveMessage())).toEqual([])
  })
})

test('a message without its end is awaited, with any other end it is read or refused by a code of its kind', () => {
  const codes: Readonly<Record<number, readonly number[]>> = {
    1: [1, 2, 3],
    2: [0, 1, 2, 3, 4, 6],
    3: [1, 10],
  }
  const check = (octets: Uint8Array, cut: number, at: number, value: number) => {
    expect(readAll(octets.subarray(0, cut % octets.length))).toEqual([])
    const mutated = altered(octets, { [at % octets.length]: value })
    for (const message of readAll(mutated)) {
      if (message.kind !== 'malformed') continue
      const { code, subcode } = message.notification
      expect(codes[code] ?? []).toContain(subcode)
    }
  }
  fc.assert(fc.property(frames, fc.nat(), fc.nat(), octet, check), { numRuns: 2_000 })
})

test('any octets at all are read without an error', () => {
  const marker = Array<number>(16).fill(0xff)
  const check = (octets: Uint8Array, type: number) => {
    const framed = Uint8Array.from([...marker, 0, 19 + octets.length, type, ...octets])
    expect(readAll(framed).length).toBeLessThanOrEqual(1)
    readAll(octets)
  }
  const bodies = fc.uint8Array({ maxLength: 200 })
  fc.assert(fc.property(bodies, fc.integer({ min: 1, max: 5 }), check), { numRuns: 2_000 })
})

test('a ROUTE-REFRESH names its family', () => {
  expect([1, 2, 3].map((afi) => only(refresh(afi)))).toEqual([
    { kind: 'routeRefresh', family: 4 },
    { kind: 'routeRefresh', family: 6 },
    { kind: 'routeRefresh', family: undefined },
  ])
})

test('a NOTIFICATION in words', () => {
  const text = Buffer.from('maintenance\u001b[31m')
  expect(
    [
      notification(2, 2),
      notification(4),
      notification(6, 2, Uint8Array.from([text.length, ...text])),
      notification(6, 2, Uint8Array.of(200, 97)),
      notification(6, 99),
      notification(42, 1),
    ].map(describeNotification),
  ).toEqual([
    'OPEN message error: bad peer AS',
    'hold timer expired',
    'cease: administrative shutdown ("maintenance [31m")',
    'cease: administrative shutdown ("a")',
    'cease: subcode 99',
    'error code 42: subcode 1',
  ])
})

test('the roles of RFC 9234 have subcode 11, as the registry of BGP parameters has it', () => {
  const texts = [8, 11].map((subcode) => describeNotification(notification(2, subcode)))
  expect(texts).toEqual(['OPEN message error: subcode 8', 'OPEN message error: role mismatch'])
})
