import { type IpAddress, ipBytes } from '../../../lib/ip.ts'
import { type PacketState, PROTOCOL_NUMBER } from '../../packet/packet-state.ts'
import type { Answer } from '../model/answer.ts'
import { allOf, type MatchTest } from './match-test.ts'

/** `-m bpf`: a classic BPF program that reads the packet from its network header. */
export const bpf: MatchTest = allOf({
  '--bytecode': ([text = ''], { packet }) => runProgram(parseProgram(text), packetBytes(packet)),
})

/** An instruction (linux/filter.h); jumps are relative to the next one. */
export interface Instruction {
  readonly code: number
  readonly ifTrue: number
  readonly ifFalse: number
  readonly k: number
}

/** `COUNT,CODE JT JF K,…` as iptables lists it; empty if the count does not match. */
export function parseProgram(text: string): readonly Instruction[] {
  const [count, ...parts] = text.split(',')
  const program = parts.map((part) => {
    const [code = 0, ifTrue = 0, ifFalse = 0, k = 0] = part.trim().split(' ').map(Number)
    return { code, ifTrue, ifFalse, k }
  })
  return program.length === Number(count) ? program : []
}

/** The value of a register; undefined if it is unknown. */
type Value = number | undefined

interface Machine {
  readonly bytes: readonly PacketByte[]
  readonly memory: Value[]
  a: Value
  x: Value
}

/** Jumps lead only forward, so a program ends after at most as many steps as it has instructions. */
export function runProgram(program: readonly Instruction[], bytes: readonly PacketByte[]): Answer {
  const machine: Machine = { bytes, memory: [], a: 0, x: 0 }
  for (let at = 0; at < program.length; at++) {
    const one = program[at]!
    const kind = one.code & 7
    if (kind === RETURN) return returned(one, machine)
    if (kind === JUMP) {
      const distance = jump(one, machine)
      if (distance === undefined) return { unknown: 'what a program of bpf reads' }
      at += distance
    } else if (!calculate(one, machine)) return { unknown: `instruction ${one.code} of bpf` }
  }
  return { unknown: 'a program of bpf without end' }
}

const LOAD = 0
const LOAD_X = 1
const STORE = 2
const STORE_X = 3
const ARITHMETIC = 4
const JUMP = 5
const RETURN = 6

function returned({ code, k }: Instruction, { a, x }: Machine): Answer {
  const source = code & 0x18
  const value = source === 0x10 ? a : source === 0x08 ? x : k
  return value === undefined ? { unknown: 'what a program of bpf returns' } : value !== 0
}

function jump({ code, ifTrue, ifFalse, k }: Instruction, { a, x }: Machine): number | undefined {
  const operation = code & 0xf0
  if (operation === 0) return k
  const operand = (code & 8) === 0 ? k : x
  if (a === undefined || operand === undefined) return undefined
  const holds = {
    0x10: a === operand,
    0x20: a > operand,
    0x30: a >= operand,
    0x40: (a & operand) !== 0,
  }
  const answer = holds[operation as keyof typeof holds]
  return answer === undefined ? undefined : answer ? ifTrue : ifFalse
}

function calculate(one: Instruction, machine: Machine): boolean {
  const { code, k } = one
  const kind = code & 7
  if (kind === LOAD) return load(one, machine)
  if (kind === LOAD_X) return loadX(one, machine)
  if (kind === STORE) machine.memory[k] = machine.a
  else if (kind === STORE_X) machine.memory[k] = machine.x
  else if (kind === ARITHMETIC) return arithmetic(one, machine)
  else if ((code & 0xf8) === 0) machine.x = machine.a
  else if ((code & 0xf8) === 0x80) machine.a = machine.x
  else return false
  return true
}

const SIZES: Readonly<Record<number, number>> = { 0: 4, 0x08: 2, 0x10: 1 }

function load({ code, k }: Instruction, machine: Machine): boolean {
  const size = SIZES[code & 0x18]
  const mode = code & 0xe0
  if (mode === 0) machine.a = k
  else if (mode === 0x60) machine.a = machine.memory[k]
  else if (mode === 0x80) machine.a = undefined
  else if (size !== undefined && mode === 0x20) machine.a = read(machine.bytes, k, size)
  else if (size !== undefined && mode === 0x40) {
    machine.a = machine.x === undefined ? undefined : read(machine.bytes, machine.x + k, size)
  } else return false
  return true
}

function loadX({ code, k }: Instruction, machine: Machine): boolean {
  const mode = code & 0xe0
  if (mode === 0) machine.x = k
  else if (mode === 0x60) machine.x = machine.memory[k]
  else if (mode === 0x80) machine.x = undefined
  else if (mode === 0xa0) {
    const byte = machine.bytes[k]
    machine.x = byte === undefined ? undefined : (byte & 15) * 4
  } else return false
  return true
}

function arithmetic({ code, k }: Instruction, machine: Machine): boolean {
  const operation = ARITHMETICS.get(code & 0xf0)
  if (operation === undefined) return false
  const { a } = machine
  const operand = (code & 8) === 0 ? k : machine.x
  machine.a = a === undefined || operand === undefined ? undefined : operation(a, operand) >>> 0
  return true
}

const ARITHMETICS: ReadonlyMap<number, (a: number, b: number) => number> = new Map([
  [0x00, (a, b) => a + b],
  [0x10, (a, b) => a - b],
  [0x20, (a, b) => Math.imul(a, b)],
  [0x40, (a, b) => a | b],
  [0x50, (a, b) => a & b],
  [0x60, (a, b) => a << b],
  [0x70, (a, b) => a >>> b],
  [0x80, (a) => -a],
  [0xa0, (a, b) => a ^ b],
])

/** Reads in network byte order; a byte that is unknown, or after the known part, makes the value unknown. */
function read(bytes: readonly PacketByte[], from: number, size: number): Value {
  let value = 0
  for (let at = from; at < from + size; at++) {
    const byte = bytes[at]
    if (byte === undefined) return undefined
    value = value * 256 + byte
  }
  return value
}

/** A byte of the packet; undefined if unknown before the packet is sent (length, identification, checksums). */
type PacketByte = number | undefined

/** The network header without options, and the ports. */
function packetBytes(packet: PacketState): readonly PacketByte[] {
  const protocol = PROTOCOL_NUMBER[packet.protocol]
  const addresses = [...bytesOf(packet.src), ...bytesOf(packet.dst)]
  const ports = [...portBytes(packet.srcPort), ...portBytes(packet.dstPort)]
  if (packet.family === 4) {
    return [0x45, ...unknown(8), protocol, ...unknown(2), ...addresses, ...ports]
  }
  return [...unknown(6), protocol, undefined, ...addresses, ...ports]
}

function bytesOf(ip: IpAddress): readonly number[] {
  return [...ipBytes(ip)]
}

function portBytes(port: number | undefined): readonly PacketByte[] {
  return port === undefined ? unknown(2) : [port >> 8, port & 255]
}

function unknown(count: number): readonly PacketByte[] {
  return Array.from({ length: count }, () => undefined)
}
