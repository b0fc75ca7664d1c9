import fc from 'fast-check'
import { expect, test } from 'vitest'
import { question } from '../testing/query-server.ts'
import { comparable, nameOfKey, nameToWire, readName } from './name.ts'
import { readQuery } from './query.ts'

const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/)
const name = fc.array(label, { maxLength: 8 }).map((labels) => labels.join('.'))

test('a name on the wire is read as it was written', () => {
  fc.assert(
    fc.property(name, fc.nat(20), (text, before) => {
      const wire = nameToWire(text)!
      const message = Buffer.concat([Buffer.alloc(before), wire, Buffer.from('rest')])
      expect(readName(message, before)).toEqual({ wire, end: before + wire.length })
    }),
  )
})

test('a pointer continues with what stands before', () => {
  const message = Buffer.from('\x03com\x00\x03www\x01b\xc0\x00rest', 'latin1')
  const wire = Buffer.from('\x03www\x01b\x03com\x00', 'latin1')
  expect(readName(message, 5)).toEqual({ wire, end: 13 })
  const twice = Buffer.from('\x03com\x00\x01b\xc0\x00\x01a\xc0\x05', 'latin1')
  expect(readName(twice, 9)?.wire.toString('latin1')).toBe('\x01a\x01b\x03com\x00')
})

test.each([
  ['to itself', '\xc0\x00', 0],
  ['forwards', '\xc0\x02\x00', 0],
  ['in a circle', '\x01a\xc0\x00', 0],
  ['in a circle of two', '\xc0\x02\xc0\x00', 2],
  ['behind the end', '\xff\xff', 0],
  ['that is cut', '\xc0', 0],
])('a pointer %s is malformed', (_, text, start) => {
  expect(readName(Buffer.from(text, 'latin1'), start)).toBeUndefined()
})

test.each([
  ['a label that is cut', '\x05abc'],
  ['a missing end', '\x01a'],
  ['a label of a reserved kind', `\x41${'a'.repeat(65)}\x00`],
  ['256 bytes', `${'\x0fabcdefghijklmno'.repeat(15)}\x0eabcdefghijklmn\x00`],
])('%s is malformed', (_, text) => {
  expect(readName(Buffer.from(text, 'latin1'), 0)).toBeUndefined()
})

test('a name of 255 bytes is the longest one', () => {
  const text = `${'abcdefghijklmno.'.repeat(15)}abcdefghijklm`
  expect(nameToWire(text)).toHaveLength(255)
  expect(readName(nameToWire(text)!, 0)?.end).toBe(255)
  expect(nameToWire(`${text}n`)).toBeUndefined()
})

test('names compare without the case of ASCII letters, and with that of others', () => {
  const [kelvin, umlaut] = [Buffer.from('\u212a'), Buffer.from('Ä')]
  expect(comparable(Buffer.from('\x03WwW\x00'))).toBe(comparable(Buffer.from('\x03wWw\x00')))
  expect(comparable(kelvin)).toBe(kelvin.toString('latin1'))
  expect(nameToWire('K.\u212a')).toEqual(Buffer.from('\x01k\x03\u212a\x00'))
  expect(comparable(umlaut)).not.toBe(comparable(Buffer.from('ä')))
})

test('the text of a name on the wire is that of the same name', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 }),
      (labels) => {
        const parts = labels.flatMap((label) => [Buffer.of(label.length), label])
        const key = comparable(Buffer.concat([...parts, Buffer.of(0)]))
        expect(nameToWire(nameOfKey(key))?.toString('latin1')).toBe(key)
      },
    ),
  )
})

test('of the name of a question ASCII letters alone are folded', () => {
  const message = question('A', 'WwW')
  message[13] = 0xc4
  expect(readQuery(message)).toMatchObject({ key: '\x03\xc4ww\x00' })
})
