import { expect, test } from 'vitest'
import { crc32c, decodeSctp, encodeInit, encodeInitAck } from './sctp-packet.ts'

/** Check value of the CRC catalogue, and RFC 3720 B.4. */
test('the checksum is Castagnoli’s', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
})

test('an INIT is answered to its ports and tag, with words', () => {
  const init = decodeSctp(encodeInit(40_000, 53, 0xdeadbeef))
  expect(init).toMatchObject({ sourcePort: 40_000, destinationPort: 53, chunk: 'INIT', words: '' })
  expect(init?.tag).toBe(0xdeadbeef)
  const ack = encodeInitAck(init!, 'it is me')
  expect(ack.readUInt32BE(4)).toBe(0xdeadbeef)
  expect(ack.length % 4).toBe(0)
  const decoded = decodeSctp(ack)
  expect(decoded).toMatchObject({ sourcePort: 53, destinationPort: 40_000, words: 'it is me' })
  expect(decoded?.chunk).toBe('INIT ACK')
})

test('what is too short is nothing', () => {
  expect(decodeSctp(Buffer.alloc(8))).toBeUndefined()
})
