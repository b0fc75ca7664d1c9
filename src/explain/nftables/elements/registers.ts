import { endianness } from 'node:os'
import type { Json } from '../model/json.ts'
import { addressOf, type Part } from '../model/value.ts'

/** A field as the kernel holds it, which pads it to 4 bytes. */
interface Field {
  readonly bytes: number
  readonly isAddress?: true
  readonly isHostOrder?: true
}

/** By the names that nft prints. */
const FIELDS: ReadonlyMap<string, Field> = new Map([
  ['ipv4_addr', { bytes: 4, isAddress: true }],
  ['ipv6_addr', { bytes: 16, isAddress: true }],
  ['inet_proto', { bytes: 1 }],
  ['inet_service', { bytes: 2 }],
  ['mark', { bytes: 4, isHostOrder: true }],
])

/** What `numgen` chose has no type of its own; integers of other programs may be of any size and order. */
const CHOSEN: Field = { bytes: 4, isHostOrder: true }

/** Keys, or data, of a set as the kernel holds them. */
export interface Registers {
  /** Undefined: a value is no number of its field's size. */
  write(parts: readonly Part[]): Buffer | undefined
  /** As nft prints them, but for the names of protocols. */
  read(registers: Buffer): Json
}

/** Of types as nft names them; `hasChosen`: an integer is a number that `numgen` chose. Undefined: one is not known. */
export function registersOf(types: readonly string[], hasChosen: boolean): Registers | undefined {
  const fields: Field[] = []
  for (const type of types) {
    const field = type === 'integer' && hasChosen ? CHOSEN : FIELDS.get(type)
    if (field === undefined) return undefined
    fields.push(field)
  }
  return {
    write(parts) {
      if (parts.length !== fields.length) return undefined
      const written = fields.map((field, index) => writeField(field, parts[index]!))
      return written.every((one) => one !== undefined) ? Buffer.concat(written) : undefined
    },
    read(registers) {
      let at = 0
      const values = fields.map((field) => {
        const value = readField(field, registers.subarray(at, at + field.bytes))
        at += padded(field)
        return value
      })
      return values.length === 1 ? values[0]! : { concat: values }
    },
  }
}

function writeField(field: Field, { value }: Part): Buffer | undefined {
  const { bytes } = field
  if (typeof value !== 'bigint' || value < 0n || value >> BigInt(bytes * 8) !== 0n) return undefined
  const written = Buffer.alloc(padded(field))
  inNetworkOrder(field, Buffer.from(value.toString(16).padStart(bytes * 2, '0'), 'hex')).copy(
    written,
  )
  return written
}

function readField(field: Field, value: Buffer): Json {
  const number = BigInt(`0x${inNetworkOrder(field, value).toString('hex')}`)
  if (field.isAddress !== true) return Number(number)
  return addressOf(number, field.bytes === 4 ? 32 : 128) ?? null
}

/** From the order of the field or to it: the conversion is its own inverse. */
function inNetworkOrder({ isHostOrder }: Field, value: Buffer): Buffer {
  return isHostOrder === true && endianness() === 'LE' ? Buffer.from(value).reverse() : value
}

function padded({ bytes }: Field): number {
  return (bytes + 3) & ~3
}
