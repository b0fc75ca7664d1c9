import { expect, test } from 'vitest'
import { type IpAddress, ipBytes } from '../../lib/ip.ts'
import { ALL_BYTES, type FilterInstruction } from '../sockets/packet-filter.ts'
import { arpFilter, neighbourFilter } from './request-filter.ts'

const REQUEST = Buffer.from('0001080006040001020000000002c0000202000000000000c0000201', 'hex')
const SOLICITATION = Buffer.from(
  '6000000000203aff20010db8000000000000000000000002ff0200000000000000000001ff000001' +
    '87001c270000000020010db80000000000000000000000010101020000000002',
  'hex',
)
const [HOST, BROADCAST, MULTICAST, OTHER_HOST] = [0, 1, 2, 3]

/** Runs a filter as the kernel does: beyond the end of a packet, it drops. */
function keeps(program: readonly FilterInstruction[], packet: Buffer, type = BROADCAST): boolean {
  let accumulator = 0
  for (let at = 0; ; at += 1) {
    const [code, jt, jf, operand] = program[at]!
    if (code === 0x06) return operand === ALL_BYTES
    if (code === 0x15) at += accumulator === operand ? jt : jf
    else if (code === 0x35) at += accumulator >= operand ? jt : jf
    else if (operand === 0xffff_f004) accumulator = type!
    else {
      const size = { 0x20: 4, 0x28: 2, 0x30: 1 }[code]!
      if (operand + size > packet.length) return false
      accumulator = packet.readUIntBE(operand, size)
    }
  }
}

const addresses = (...all: readonly string[]) => all.map((ip) => ipBytes(ip as IpAddress))
const changed = (packet: Buffer, at: number, value: number) => {
  const copy = Buffer.from(packet)
  copy[at] = value
  return copy
}
const many = Array.from({ length: 100 }, (_, index) => `198.51.100.${index}`)

test('ARP with an address as target or sender is kept', () => {
  for (const ip of ['192.0.2.1', '192.0.2.2']) {
    expect(keeps(arpFilter(addresses(ip)), REQUEST)).toBe(true)
    expect(keeps(arpFilter(addresses(...many.slice(1), ip)), REQUEST)).toBe(true)
    expect(keeps(arpFilter(addresses(ip, ...many.slice(1))), REQUEST)).toBe(true)
  }
  for (const list of [[], ['192.0.2.3'], many]) {
    expect(keeps(arpFilter(addresses(...list)), REQUEST)).toBe(false)
  }
})

test('solicitations and advertisements for an address are kept', () => {
  const program = neighbourFilter(addresses('2001:db8::1'))
  expect(keeps(program, SOLICITATION)).toBe(true)
  expect(keeps(program, changed(SOLICITATION, 40, 136))).toBe(true)
  for (const type of [134, 137, 128])
    expect(keeps(program, changed(SOLICITATION, 40, type))).toBe(false)
  expect(keeps(program, changed(SOLICITATION, 6, 17))).toBe(false)
  expect(keeps(program, changed(SOLICITATION, 7, 64))).toBe(false)
  expect(keeps(neighbourFilter(addresses('2001:db8::2')), SOLICITATION)).toBe(false)
})

test('of more addresses than a filter can list, all messages are kept, and nothing else', () => {
  const more = Array.from({ length: 101 }, (_, index) => `198.51.100.${index}`)
  expect(keeps(arpFilter(addresses(...more)), REQUEST)).toBe(true)
  expect(keeps(arpFilter(addresses(...more)), changed(REQUEST, 1, 6))).toBe(false)
  const six = neighbourFilter(addresses(...more.map((_, index) => `2001:db8:1::${index}`)))
  expect(keeps(six, SOLICITATION)).toBe(true)
  expect(keeps(six, changed(SOLICITATION, 6, 17))).toBe(false)
})

test('frames for other hosts are dropped', () => {
  const program = arpFilter(addresses('192.0.2.1'))
  for (const type of [HOST, BROADCAST, MULTICAST]) expect(keeps(program, REQUEST, type)).toBe(true)
  expect(keeps(program, REQUEST, OTHER_HOST)).toBe(false)
  expect(keeps(neighbourFilter(addresses('2001:db8::1')), SOLICITATION, OTHER_HOST)).toBe(false)
})

test('jumps are short enough for the kernel', () => {
  for (const [, jt, jf] of [
    ...arpFilter(addresses(...many)),
    ...neighbourFilter(addresses('::1')),
  ]) {
    expect(Math.max(jt, jf)).toBeLessThan(256)
  }
})
