import type { Family } from '../../../lib/ip.ts'
import {
  type ConntrackKey,
  type Expression,
  FIRST_REGISTER,
  type MetaKey,
  type PayloadBase,
  type Register,
} from '../expression.ts'

/** Something that a rule loads into registers. */
export interface Field {
  /** The number of registers that it takes. */
  readonly words: number
  load(to: Register): readonly Expression[]
}

/** The expressions that load, and the next free register. */
export interface Loaded {
  readonly expressions: readonly Expression[]
  readonly first: Register
  readonly next: Register
}

/** Loads fields into consecutive registers; registers are allocated only here. */
export function loadAll(fields: readonly Field[], first: Register = FIRST_REGISTER): Loaded {
  let next = first
  const expressions = fields.flatMap((field) => {
    const loaded = field.load(next)
    next += field.words
    return loaded
  })
  return { expressions, first, next }
}

/** The number of registers of an address. */
export function wordsOf(family: Family): number {
  return family === 4 ? 1 : 4
}

/** The source address; `bytes` limits it to its first bytes. */
export function sourceAddress(family: Family, bytes = wordsOf(family) * 4): Field {
  return payload('network', family === 4 ? 12 : 8, bytes)
}

/** The destination address; `bytes` limits it to its first bytes. */
export function destinationAddress(family: Family, bytes = wordsOf(family) * 4): Field {
  return payload('network', family === 4 ? 16 : 24, bytes)
}

/** At the same offset in TCP, UDP and SCTP. */
export const DESTINATION_PORT = payload('transport', 2, 2)

/** The flags of TCP; only after a match of the protocol. */
export const TCP_FLAGS = payload('transport', 13, 1)

export const PROTOCOL = meta('l4proto')
export const MARK = meta('mark')
export const INPUT_INTERFACE: Field = { ...meta('iifname'), words: 4 }

export const CONNECTION_STATE = conntrack('state')
export const CONNECTION_STATUS = conntrack('status')
export const CONNECTION_DIRECTION = conntrack('direction')

/** The address to which the client sent the connection, before any translation. */
export function originalDestination(family: Family): Field {
  return { ...conntrack('daddr', 'original'), words: wordsOf(family) }
}

export const ORIGINAL_PORT = conntrack('protoDestination', 'original')

/** The address of the backend to which the connection was translated: the source of its replies. */
export function chosenAddress(family: Family): Field {
  return { ...conntrack('saddr', 'reply'), words: wordsOf(family) }
}

export const CHOSEN_PORT = conntrack('protoSource', 'reply')

/** The kernel's type of an address: RTN_LOCAL and others. */
export function addressType(of: 'saddr' | 'daddr'): Field {
  return { words: 1, load: (to) => [{ type: 'fib', result: 'type', of, to }] }
}

/** A number from `offset` to `offset + modulus - 1`, each equally likely. */
export function randomIndex(modulus: number, offset: number): Field {
  const chosen = offset === 0 ? { modulus } : { modulus, offset }
  return { words: 1, load: (to) => [{ type: 'random', ...chosen, to }] }
}

/** (field & mask) ^ xor; both are as long as the field. */
export function bits(field: Field, mask: Buffer, xor: Buffer = Buffer.alloc(mask.length)): Field {
  return {
    words: field.words,
    load: (to) => [...field.load(to), { type: 'bitwise', from: to, to, mask, xor }],
  }
}

function payload(base: PayloadBase, offset: number, length: number): Field {
  const load = (to: Register) => [{ type: 'payload', base, offset, length, to }] as const
  return { words: Math.ceil(length / 4), load }
}

function meta(key: MetaKey): Field {
  return { words: 1, load: (to) => [{ type: 'meta', key, to }] }
}

function conntrack(key: ConntrackKey, direction?: 'original' | 'reply'): Field {
  return {
    words: 1,
    load: (to) => [{ type: 'ct', key, ...(direction ? { direction } : {}), to }],
  }
}
