import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeAttribute, findAttribute, findPort, findU16, findU32, nest } from './attribute.ts'
import { AttributeWriter } from './attribute-writer.ts'

test('writes the bytes of struct nlattr, padded with zeros', () => {
  const writer = new AttributeWriter()
    .header(5, 1, 0, 0)
    .nest(2, (inner) => inner.u16(1, 0x1234).u32(2, 0x1234_5678).be16(3, 80))
    .text(4, 'rr')
    .bytes(5, Uint8Array.of(10, 96, 0, 1), 6)
  expect(writer.written().toString('hex')).toBe(
    '05010000' +
      '1c000280' +
      '0600010034120000' +
      '0800020078563412' +
      '0600030000500000' +
      '0700040072720000' +
      '0a0005000a60000100000000',
  )
})

const value = fc.uint8Array({ maxLength: 300, size: 'max' })
const type = fc.integer({ min: 1, max: 0x3fff })

test('writes the bytes of encodeAttribute, whatever the length', () => {
  fc.assert(
    fc.property(type, fc.array(fc.tuple(type, value), { maxLength: 12 }), (outer, attributes) => {
      const writer = new AttributeWriter().nest(outer, (inner) => {
        for (const [number, bytes] of attributes) inner.bytes(number, bytes)
      })
      const expected = attributes.map(([number, bytes]) =>
        encodeAttribute(number, Buffer.from(bytes)),
      )
      expect(writer.written()).toEqual(nest(outer, ...expected))
    }),
  )
})

test('an attribute that was written is found', () => {
  fc.assert(
    fc.property(fc.nat(0xffff), fc.nat(0xffff_ffff), fc.nat(0xffff), (u16, u32, port) => {
      const bytes = new AttributeWriter().u16(1, u16).u32(2, u32).be16(3, port).written()
      expect([findU16(bytes, 1), findU32(bytes, 2), findPort(bytes, 3)]).toEqual([u16, u32, port])
      expect([findU32(bytes, 1), findU16(bytes, 2), findPort(bytes, 2)]).toEqual(
        Array(3).fill(undefined),
      )
      expect(findAttribute(bytes, 4)).toBeUndefined()
    }),
  )
})
