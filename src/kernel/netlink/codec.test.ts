import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { attributeText, encodeAttribute, findAttribute, nest } from './attribute.ts'
import { decodeMessages, encodeMessage, errnoOf } from './message.ts'

test('a message has the bytes of struct nlmsghdr', () => {
  const message = { type: 0x0a10, flags: 0x305, payload: Buffer.from('000000', 'hex') }
  expect(encodeMessage(message, 7).toString('hex')).toBe('13000000100a0503070000000000000000000000')
})

test('an attribute has the bytes of struct nlattr', () => {
  const inner = encodeAttribute(2, Buffer.from('nat\0'))
  expect(nest(1, inner).toString('hex')).toBe('0c000180080002006e617400')
})

const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array))
const outgoing = fc.record({
  type: fc.nat(0xffff),
  flags: fc.nat(0xffff),
  payload: bytes,
})

test('decoded messages equal the encoded ones', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(outgoing, fc.nat(0xffffffff))), (messages) => {
      const datagram = Buffer.concat(messages.map(([message, seq]) => encodeMessage(message, seq)))
      const decoded = [...decodeMessages(datagram)]
      const expected = messages.map(([message, seq]) => ({ ...message, seq, port: 0 }))
      expect(
        decoded.map((message) => ({ ...message, payload: Buffer.from(message.payload) })),
      ).toEqual(expected)
    }),
  )
})

test('attributes are found among others, at any nesting', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), bytes)), (attributes) => {
      const encoded = attributes.map(([type, value]) => encodeAttribute(type, value))
      const all = findAttribute(nest(99, ...encoded), 99) ?? Buffer.alloc(0)
      for (let type = 1; type <= 30; type++) {
        const first = attributes.find(([other]) => other === type)
        expect(findAttribute(all, type)).toEqual(first?.[1])
      }
    }),
  )
})

test('hostile bytes are read without an exception and without reading past the end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (array) => {
      const datagram = Buffer.from(array)
      for (const message of decodeMessages(datagram)) {
        expect(message.payload.length).toBeLessThan(datagram.length)
        expect(errnoOf(message)).toBeGreaterThanOrEqual(0)
        findAttribute(message.payload, 1)
      }
      expect(findAttribute(datagram, 1)?.length ?? 0).toBeLessThanOrEqual(datagram.length)
    }),
  )
})

test('text ends at its NUL', () => {
  expect(attributeText(Buffer.from('nat\0\0'))).toBe('nat')
  expect(attributeText(Buffer.from('nat'))).toBe('nat')
})
