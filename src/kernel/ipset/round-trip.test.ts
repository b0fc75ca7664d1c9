import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Cidr, formatIp, parseCidr } from '../../lib/ip.ts'
import { decodeMessages, encodeMessage, type OutgoingMessage } from '../netlink/message.ts'
import { incoming } from '../netlink/testing/fake-transport.ts'
import { decodeMembers, encodeChange } from './change.ts'
import {
  decodeHeader,
  decodeName,
  decodeProtocol,
  decodeRevision,
  encodeCreate,
} from './netlink-sets.ts'
import type { Member, SetType } from './sets.ts'
import * as captured from './testing/fixtures.ts'

const messageOf = (bytes: Buffer) => {
  const [message] = decodeMessages(bytes)
  if (message === undefined) throw new Error('not a message')
  return message
}

const octets = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const number32 = fc.nat(0xffff_ffff)
const anyMember = fc.constantFrom(4, 16).chain((length) =>
  fc.record(
    {
      ip: octets(length).map((bytes) => formatIp(bytes)),
      protocol: fc.constantFrom('TCP', 'UDP', 'SCTP'),
      port: fc.nat(65_535),
      net: fc
        .tuple(octets(length), fc.integer({ min: 1, max: length * 8 }))
        .map(([bytes, prefix]) => parseCidr(`${formatIp(bytes)}/${prefix}`) as Cidr),
      timeout: number32,
      mark: fc.record({ value: number32, mask: number32 }),
    },
    { requiredKeys: ['ip'] },
  ),
) satisfies fc.Arbitrary<Member>

test('a decoded member equals the encoded one', () => {
  fc.assert(
    fc.property(anyMember, (member) => {
      expect(decodeMembers(listing(encodeChange('add', 'A', member)))).toEqual([member])
      const { timeout: _, mark: __, ...key } = member
      expect(decodeMembers(listing(encodeChange('delete', 'A', member)))).toEqual([key])
    }),
  )
})

test('a decoded header equals the encoded one', () => {
  const anyType = fc.record(
    {
      type: fc.constantFrom('hash:ip', 'hash:ip,port', 'hash:ip,port,net'),
      family: fc.constantFrom(4, 6),
      maxElements: number32,
      hashSize: number32,
      timeout: number32,
      withMark: fc.boolean(),
      counters: fc.boolean(),
    },
    { requiredKeys: ['type', 'family', 'maxElements', 'withMark', 'counters'] },
  ) satisfies fc.Arbitrary<SetType>
  const name = fc.stringMatching(/^[\x21-\x7e]{1,31}$/)
  fc.assert(
    fc.property(name, anyType, (set, given) => {
      const { payload } = encodeCreate(set, given, 4)
      const message = messageOf(incoming({ type: 0x0607, flags: 2, payload }, 1))
      const [found, header] = decodeHeader(message) ?? []
      expect(found).toBe(set)
      expect(JSON.parse(JSON.stringify(header))).toEqual({
        ...given,
        references: 0,
        entries: 0,
        memory: 0,
      })
    }),
  )
})

test('damaged and hostile answers are read without an exception', () => {
  const good = [captured.LIST, captured.LIST_V6, captured.LIST_OF_SETS, captured.TYPE_ANSWER]
  const damaged = fc
    .tuple(fc.constantFrom(...good), fc.array(fc.tuple(fc.nat(600), fc.nat(255)), { maxLength: 6 }))
    .map(([text, changes]) => {
      const bytes = Buffer.from(text, 'hex')
      for (const [at, value] of changes) bytes[16 + (at % (bytes.length - 16))] = value
      return bytes
    })
  const hostile = fc
    .uint8Array({ maxLength: 120 })
    .map((payload) => encodeMessage({ type: 0x0607, flags: 0, payload: Buffer.from(payload) }, 1))
  fc.assert(
    fc.property(fc.oneof(damaged, hostile), (bytes) => {
      const message = messageOf(bytes)
      const { length } = decodeName(message) ?? ''
      expect(length).toBeLessThan(bytes.length)
      expect(decodeHeader(message)?.length ?? 2).toBe(2)
      expect(decodeMembers(message).length).toBeLessThan(bytes.length)
      expect(decodeRevision(message, 'hash:ip') ?? 0).toBeGreaterThanOrEqual(0)
      expect(decodeProtocol(message)).toBeUndefined()
    }),
    { numRuns: 3000 },
  )
})

/** The kernel's listing that holds the member of a change. */
function listing({ payload }: OutgoingMessage) {
  // Behind nfgenmsg, protocol and name stands the member: the listing wraps it once more.
  const member = payload.subarray(20)
  const wrapped = Buffer.alloc(4 + member.length)
  wrapped.writeUInt16LE(wrapped.length, 0)
  wrapped.writeUInt16LE(0x8008, 2)
  member.copy(wrapped, 4)
  const all = Buffer.concat([payload.subarray(0, 20), wrapped])
  return messageOf(incoming({ type: 0x0607, flags: 2, payload: all }, 1))
}
