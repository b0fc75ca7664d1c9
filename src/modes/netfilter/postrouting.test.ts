import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isHairpin, isHairpinOffLoopback } from './postrouting.ts'

type Instruction = readonly [code: number, jt: number, jf: number, k: number]

/** Reads `N,code jt jf k,…` out of the match. */
function programOf(match: string): readonly Instruction[] {
  const [, text = ''] = /--bytecode "([\d ,]+)" $/.exec(match) ?? []
  const [length, ...lines] = text.split(',')
  expect(lines).toHaveLength(Number(length))
  return lines.map((line) => line.split(' ').map(Number) as unknown as Instruction)
}

/** Classic BPF (linux/filter.h), as far as the program goes; throws at anything else. */
function run(program: readonly Instruction[], packet: Buffer): number {
  let [a, x] = [0, 0]
  for (let at = 0; at < program.length; at++) {
    const [code = 0, jt = 0, jf = 0, k = 0] = program[at] ?? []
    if (code === 0x20) a = packet.readUInt32BE(k)
    else if (code === 0x07) x = a
    else if (code === 0x1d) at += a === x ? jt : jf
    else if (code === 0x06) return k
    else throw new Error(`instruction ${code}`)
  }
  throw new Error('no return')
}

/** A packet from its network header on, with these addresses. */
function packetOf(family: 4 | 6, source: Uint8Array, destination: Uint8Array): Buffer {
  const packet = Buffer.alloc(60, 0x5a)
  const at = family === 4 ? 12 : 8
  packet.set(source, at)
  packet.set(destination, at + source.length)
  return packet
}

test.each([4, 6] as const)('IPv%i: true for equal addresses, and only for those', (family) => {
  const program = programOf(isHairpin(family))
  const size = family === 4 ? 4 : 16
  const address = fc.uint8Array({ minLength: size, maxLength: size })
  fc.assert(
    fc.property(address, fc.nat(size - 1), fc.integer({ min: 1, max: 255 }), (bytes, at, flip) => {
      expect(run(program, packetOf(family, bytes, bytes))).toBe(1)
      const other = Uint8Array.from(bytes, (byte, index) => (index === at ? byte ^ flip : byte))
      expect(run(program, packetOf(family, bytes, other))).toBe(0)
    }),
  )
})

test('only translated connections are looked at, or only those that leave the node', () => {
  expect(isHairpin(4)).toMatch(/^-m conntrack --ctstate DNAT -m bpf /)
  expect(isHairpinOffLoopback(4)).toMatch(/^! -o lo -m bpf /)
  for (const family of [4, 6] as const) {
    expect(programOf(isHairpinOffLoopback(family))).toEqual(programOf(isHairpin(family)))
  }
})
