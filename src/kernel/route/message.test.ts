import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeAttribute } from '../netlink/attribute.ts'
import { decodeMessages, encodeMessage, type OutgoingMessage } from '../netlink/message.ts'
import { incoming } from '../netlink/testing/fake-transport.ts'
import {
  decodeLocalDefault,
  encodeRouteAdd,
  encodeRouteDelete,
  encodeRouteDump,
} from './netlink-routes.ts'
import type { PolicyRoute } from './routes.ts'
import { decodeRule, encodeRuleAdd, encodeRuleDelete, encodeRuleDump } from './rule-message.ts'

const four: PolicyRoute = { family: 4, mark: 0x8000, mask: 0x8000, table: 28_272, priority: 7 }
const six: PolicyRoute = { ...four, family: 6 }

/** Sent by `ip` (iproute2 6.1) for the commands of the tests; header and attributes. */
const RULE = (family: string, action: string) =>
  `${family}0000000000000${action}00000000` +
  '08000a00008000000800100000800000' +
  '08000f00706e0000080006000700000005001500' +
  '6e000000'
const ROUTE = '02000000006efe020000000008000f00706e00000800040001000000'
const ROUTE_V6 =
  '0a000000006e0002000000001400010000000000000000000000000000000000' +
  '08000f00706e000008000600000400000800040001000000'

/** Rules as a kernel (6.18) lists them: local, ours, main. */
const RULES = [
  '02000000ff0000010000000008000f00ff00000008000e00ffffffff0500150002000000',
  '02000000fc0000010000000008000f00706e000008000e00ffffffff050015006e0000000800060007000000' +
    '08000a00008000000800100000800000',
  '02000000fe0000010000000008000f00fe00000008000e00ffffffff050015000200000008000600fe7f0000',
]
/** Ours, as listed. */
const LISTED = '02000000fc6efe020000000008000f00706e00000800040001000000'
const LISTED_V6 =
  '0a000000fc6e00020000000008000f00706e00000800060000040000080004000100000024000c00' +
  `${'00'.repeat(32)}0500140000000000`

const rule = (hex: string, type = 32) => decodeRule({ type, payload: Buffer.from(hex, 'hex') })
const route = (hex: string, type = 24) =>
  decodeLocalDefault({ type, payload: Buffer.from(hex, 'hex') })

test('messages have these bytes', () => {
  const hex = (message: OutgoingMessage) => encodeMessage(message, 1).toString('hex')
  expect(hex(encodeRuleAdd(four))).toBe(
    '44000000200000060100000000000000' +
      '020000000000000100000000' +
      '080006000700000008000a0000800000080010000080000008000f00706e0000050015006e000000',
  )
  expect(hex(encodeRouteAdd(six))).toBe(
    '2c000000180000060100000000000000' +
      '0a000000006e000200000000' +
      '08000f00706e00000800040001000000',
  )
  expect(hex(encodeRuleDump(6))).toBe(`1c0000002200000001000000000000000a${'00'.repeat(11)}`)
  expect(hex(encodeRouteDump(4))).toBe(`1c0000001a000000010000000000000002${'00'.repeat(11)}`)
})

test.each([
  ['ip rule add fwmark 0x8000/0x8000 …', RULE('02', '1'), encodeRuleAdd(four)],
  ['ip -6 rule add …', RULE('0a', '1'), encodeRuleAdd(six)],
  ['ip rule del …', RULE('02', '0'), encodeRuleDelete(four)],
  ['ip route add local default dev lo table 28272', ROUTE, encodeRouteAdd(four)],
  ['ip route del …', ROUTE, encodeRouteDelete(four)],
  ['ip -6 route add …', ROUTE_V6, encodeRouteAdd(six)],
])('%s has the same bytes', (_, theirs, { payload }) => {
  expect(meaning(payload)).toEqual(meaning(Buffer.from(theirs, 'hex')))
})

test('reads captured rules', () => {
  expect(RULES.map((hex) => rule(hex))).toEqual([undefined, { ...four, isOurs: true }, undefined])
  for (const other of ['00', '03', '6f']) {
    const theirs = rule(RULES[1]!.replace('050015006e', `05001500${other}`))
    expect(theirs).toEqual({ ...four, isOurs: false })
  }
  expect(rule(RULES[1]!, 33)).toEqual({ ...four, isOurs: true })
  expect(rule(RULES[1]!, 34)).toBeUndefined()
})

test.each([
  ['a destination', (bytes: Buffer) => bytes.fill(24, 1, 2)],
  ['a source', (bytes: Buffer) => bytes.fill(24, 2, 3)],
  ['a type of service', (bytes: Buffer) => bytes.fill(4, 3, 4)],
  ['another action', (bytes: Buffer) => bytes.fill(6, 7, 8)],
  ['inversion', (bytes: Buffer) => bytes.fill(2, 8, 9)],
  ['suppression', (bytes: Buffer) => bytes.fill(0, 24, 28)],
  [
    'an interface',
    (bytes: Buffer) => Buffer.concat([bytes, encodeAttribute(3, Buffer.from('lo\0'))]),
  ],
  ['a port', (bytes: Buffer) => Buffer.concat([bytes, encodeAttribute(24, Buffer.alloc(4))])],
  ['a DSCP value', (bytes: Buffer) => Buffer.concat([bytes, encodeAttribute(25, Buffer.of(46))])],
  ['another family', (bytes: Buffer) => bytes.fill(7, 0, 1)],
])('a rule with %s is another rule', (_, change) => {
  const payload = Buffer.from(change(Buffer.from(RULES[1]!, 'hex')))
  expect(decodeRule({ type: 32, payload })).toBeUndefined()
})

test('reads captured routes', () => {
  expect(route(LISTED)).toEqual({ family: 4, table: 28_272, isOurs: true })
  expect(route(LISTED_V6)).toEqual({ family: 6, table: 28_272, isOurs: true })
  expect(route(LISTED.replace('6efe02', '03fe02'))).toMatchObject({ isOurs: false })
  expect(route(LISTED, 25)).toMatchObject({ family: 4 })
  expect(route(LISTED, 26)).toBeUndefined()
})

test.each([
  ['has a destination', LISTED.replace('020000', '022000')],
  ['has a type of service', LISTED.replace('02000000', '02000004')],
  ['is a black hole', LISTED.replace('6efe02', '6efe06')],
  ['goes to another device', LISTED.replace('0800040001', '0800040002')],
  ['has no device', LISTED.slice(0, -16)],
])('a route that %s is another route', (_, hex) => {
  expect(route(hex)).toBeUndefined()
})

const number32 = fc.nat(0xffff_ffff)
const anyRoute = fc.record({
  family: fc.constantFrom(4, 6),
  mark: number32,
  mask: number32,
  table: number32,
  priority: number32,
}) satisfies fc.Arbitrary<PolicyRoute>

test('decoded rules and routes equal the encoded ones', () => {
  fc.assert(
    fc.property(anyRoute, (wanted) => {
      expect(decodeRule(encodeRuleAdd(wanted))).toEqual({ ...wanted, isOurs: true })
      const { family, table } = wanted
      expect(decodeLocalDefault(encodeRouteAdd(wanted))).toEqual({ family, table, isOurs: true })
      expect(decodeRule(encodeRouteAdd(wanted))).toBeUndefined()
      expect(decodeLocalDefault(encodeRuleAdd(wanted))).toBeUndefined()
    }),
  )
})

test('damaged and hostile messages are read without an exception', () => {
  const damaged = fc
    .tuple(fc.constantFrom(...RULES, LISTED, LISTED_V6), fc.nat(100), fc.nat(255))
    .map(([hex, at, value]) => {
      const bytes = Buffer.from(hex, 'hex')
      bytes[at % bytes.length] = value
      return bytes
    })
  const hostile = fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes))
  fc.assert(
    fc.property(fc.oneof(damaged, hostile), fc.constantFrom(24, 25, 32, 33), (payload, type) => {
      for (const message of decodeMessages(incoming({ type, flags: 2, payload }, 1))) {
        const found = [decodeRule(message), decodeLocalDefault(message)]
        expect(found.filter((each) => each !== undefined).length).toBeLessThan(2)
        expect([4, 6, undefined]).toContain(found[0]?.family)
      }
    }),
    { numRuns: 3000 },
  )
})

/**
 * Header and attributes in no order, without what means nothing: a destination or
 * metric that is the default, the action of a deletion.
 */
function meaning(payload: Buffer) {
  const header = Buffer.from(payload.subarray(0, 12))
  const isRule = header[5] === 0
  if (isRule) header[7] = 1
  const attributes: string[] = []
  for (let at = 12; at + 4 <= payload.length; at += (payload.readUInt16LE(at) + 3) & ~3) {
    const attribute = payload.toString('hex', at, at + payload.readUInt16LE(at))
    if (isRule || !/^(1400010+$|0800060000040000)/.test(attribute)) attributes.push(attribute)
  }
  return [header.toString('hex'), ...attributes.toSorted()]
}
