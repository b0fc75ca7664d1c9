import { expect, test } from 'vitest'
import { segmentOf } from './segment.ts'

const SYN = packet(0x02, '020405b40402080a000003e8000000000103030a')

/** A segment from 10.251.1.1:40000 to 10.251.2.1:30080 with the sequence number 5. */
function packet(flags: number, options: string, data = ''): Buffer {
  const header = 5 + options.length / 8
  const length = 20 + header * 4 + data.length / 2
  const ip = `4500${hex(length, 4)}00000000400600000afb01010afb0201`
  const tcp = `9c4075800000000500000000${hex(header << 4, 2)}${hex(flags, 2)}ffff00000000`
  return Buffer.from(ip + tcp + options + data, 'hex')
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0')
}

test('a SYN has addresses, ports, sequence number and time stamp', () => {
  expect(segmentOf(SYN)).toEqual({
    from: '10.251.1.1:40000',
    to: '10.251.2.1:30080',
    kind: 'syn',
    sequence: 5,
    stamp: 1_000,
  })
})

test('kinds differ by flags and data', () => {
  const kindOf = (flags: number, data = '') => segmentOf(packet(flags, '', data))?.kind
  expect(kindOf(0x12)).toBe('syn-ack')
  expect(kindOf(0x10)).toBe('ack')
  expect(kindOf(0x10, '2e')).toBeUndefined()
  expect(kindOf(0x11)).toBeUndefined()
  expect(kindOf(0x04)).toBeUndefined()
})

test('without a time stamp it is 0, and options that end early are no error', () => {
  expect(segmentOf(packet(0x02, '020405b4'))?.stamp).toBe(0)
  expect(segmentOf(packet(0x02, '00080a00'))?.stamp).toBe(0)
  expect(segmentOf(packet(0x02, '0101080a'))?.stamp).toBe(0)
})

test('only TCP over IPv4 is read', () => {
  const udp = Buffer.from(SYN)
  udp[9] = 17
  expect(segmentOf(udp)).toBeUndefined()
  expect(segmentOf(Buffer.alloc(60))).toBeUndefined()
  expect(segmentOf(SYN.subarray(0, 30))).toBeUndefined()
})
