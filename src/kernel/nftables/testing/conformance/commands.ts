import {
  type Expression,
  FIRST_REGISTER,
  VERDICT_REGISTER,
  type Verdict,
} from '../../expression.ts'
import type { Command, Element, Hook, SetSpec, Table } from '../../objects.ts'

/** Short forms of commands in one IPv4 table `conformance`. */
export const TABLE: Table = { family: 4, name: 'conformance' }

export const table: Command = { do: 'addTable', table: TABLE }

export function chain(name: string, hook?: Hook): Command {
  return { do: 'addChain', table: TABLE, chain: name, ...(hook ? { spec: { hook } } : {}) }
}

export function rule(name: string, ...expressions: readonly Expression[]): Command {
  return { do: 'addRule', table: TABLE, chain: name, rule: { expressions } }
}

export function set(name: string, spec: SetSpec): Command {
  return { do: 'addSet', table: TABLE, set: name, spec }
}

export function add(name: string, ...elements: readonly Element[]): Command {
  return { do: 'addElements', table: TABLE, set: name, elements }
}

export function remove(name: string, ...elements: readonly Element[]): Command {
  return { do: 'deleteElements', table: TABLE, set: name, elements }
}

export const flush = (name: string): Command => ({ do: 'flushChain', table: TABLE, chain: name })
export const dropChain = (name: string): Command => ({
  do: 'deleteChain',
  table: TABLE,
  chain: name,
})
export const dropSet = (name: string): Command => ({ do: 'deleteSet', table: TABLE, set: name })

export function nat(hook: Hook['hook'], priority = -100): Hook {
  return { type: 'nat', hook, priority }
}

export function filter(hook: Hook['hook']): Hook {
  return { type: 'filter', hook, priority: 0 }
}

/** Four bytes: an address, or a port with its padding. */
export function bytes(...values: readonly number[]): Buffer {
  return Buffer.from(values)
}

export function verdict(kind: 'jump' | 'goto', to: string): Verdict {
  return { kind, chain: to }
}

export function go(kind: 'jump' | 'goto', to: string): Expression {
  return { type: 'verdict', verdict: verdict(kind, to) }
}

export const SOURCE: Expression = {
  type: 'payload',
  base: 'network',
  offset: 12,
  length: 4,
  to: FIRST_REGISTER,
}

/** Looks up the source address; `to` for a map. */
export function lookup(name: string, to?: number): Expression {
  return { type: 'lookup', set: name, key: FIRST_REGISTER, ...(to === undefined ? {} : { to }) }
}

export function verdictOf(name: string): readonly Expression[] {
  return [SOURCE, lookup(name, VERDICT_REGISTER)]
}

/** Loads an address and a port, and translates to them. */
export function translate(to: 'destination' | 'source', family: 4 | 6 = 4): readonly Expression[] {
  return [
    { type: 'load', value: bytes(10, 0, 0, 1), to: FIRST_REGISTER },
    { type: 'load', value: bytes(0, 80), to: FIRST_REGISTER + 1 },
    { type: 'nat', to, family, address: FIRST_REGISTER, port: FIRST_REGISTER + 1 },
  ]
}

export const ADDRESSES: SetSpec = { key: ['ipv4_addr'] }
export const MAP: SetSpec = { key: ['ipv4_addr'], data: ['ipv4_addr'] }
export const VERDICTS: SetSpec = { key: ['ipv4_addr'], data: 'verdict' }
export const RANGES: SetSpec = { key: ['ipv4_addr'], isInterval: true }
export const FIELD_RANGES: SetSpec = { key: ['ipv4_addr', 'ipv4_addr'], isInterval: true }
