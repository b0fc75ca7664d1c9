import type { Family } from '../../../lib/ip.ts'
import {
  type Expression,
  FIRST_REGISTER,
  type Register,
  VERDICT_REGISTER,
  type Verdict,
} from '../expression.ts'
import type { Rule } from '../objects.ts'
import { hostWord } from './encode.ts'
import { bits, type Field, loadAll, MARK, wordsOf } from './fields.ts'

/** One condition or action of a rule. A rule is several of them, one after the other. */
export type Statement = readonly Expression[]

/** The rule continues if the field has this value; `different`: if it has another value. */
export function compare(field: Field, is: 'equal' | 'different', value: Buffer): Statement {
  const { expressions, first } = loadAll([field])
  return [...expressions, { type: 'cmp', from: first, is, value }]
}

/** The rule continues if the fields together are in the set. */
export function isIn(set: string, ...fields: readonly Field[]): Statement {
  const { expressions, first } = loadAll(fields)
  return [...expressions, { type: 'lookup', set, key: first }]
}

/** The rule continues if the fields together are not in the set. */
export function isNotIn(set: string, ...fields: readonly Field[]): Statement {
  const { expressions, first } = loadAll(fields)
  return [...expressions, { type: 'lookup', set, key: first, isInverted: true }]
}

/** The verdict that the map has for the fields; without an element the next rule follows. */
export function verdictOf(map: string, ...fields: readonly Field[]): Statement {
  const { expressions, first } = loadAll(fields)
  return [...expressions, { type: 'lookup', set: map, key: first, to: VERDICT_REGISTER }]
}

/** Translates the destination to the address . port that the map has for the fields. */
export function translate(family: Family, map: string, ...fields: readonly Field[]): Statement {
  const { expressions, first } = loadAll(fields)
  return [
    ...expressions,
    { type: 'lookup', set: map, key: first, to: FIRST_REGISTER },
    {
      type: 'nat',
      to: 'destination',
      family,
      address: FIRST_REGISTER,
      port: FIRST_REGISTER + wordsOf(family),
    },
  ]
}

/** The same with two maps, one of addresses and one of ports; `client` is the key of both. */
export function translateByTwo(
  family: Family,
  maps: { readonly addresses: string; readonly ports: string },
  client: Field,
): Statement {
  const address = loadAll([client])
  const port = loadAll([client], FIRST_REGISTER + wordsOf(family))
  return [
    ...address.expressions,
    { type: 'lookup', set: maps.addresses, key: address.first, to: address.first },
    ...port.expressions,
    { type: 'lookup', set: maps.ports, key: port.first, to: port.first },
    { type: 'nat', to: 'destination', family, address: address.first, port: port.first },
  ]
}

/**
 * Translates the destination to the address that the map has for the fields, and to this port; uses the same registers
 * as nft.
 */
export function translateToPort(
  family: Family,
  { addresses, port }: { readonly addresses: string; readonly port: Buffer },
  ...fields: readonly Field[]
): Statement {
  const { expressions, first } = loadAll(fields)
  const behind = nextBlock(FIRST_REGISTER + wordsOf(family))
  return [
    ...expressions,
    { type: 'lookup', set: addresses, key: first, to: FIRST_REGISTER },
    { type: 'load', value: port, to: behind },
    { type: 'nat', to: 'destination', family, address: FIRST_REGISTER, port: behind },
  ]
}

/** Sends a copy of the packet to the machine whose address the map has for the fields. */
export function copyTo(map: string, ...fields: readonly Field[]): Statement {
  const { expressions, first } = loadAll(fields)
  return [
    ...expressions,
    { type: 'lookup', set: map, key: first, to: FIRST_REGISTER },
    { type: 'duplicate', address: FIRST_REGISTER },
  ]
}

/** An element of a map that rules fill. */
interface MapElement {
  readonly key: readonly Field[]
  readonly data: readonly Field[]
  /** Milliseconds. */
  readonly timeout?: number
}

/** Adds an element; for an existing one the timeout is renewed and the data is kept. */
export function update(map: string, element: MapElement): Statement {
  return change('update', map, element)
}

/**
 * Counts the packet in the element with this key. The element is added if it does not exist; its timeout starts anew.
 */
export function count(set: string, timeout: number, ...key: readonly Field[]): Statement {
  const { expressions, first } = loadAll(key)
  const counter = { operation: 'update', set, key: first, timeout, counts: true } as const
  return [...expressions, { type: 'dynamic', ...counter }]
}

/** Removes the element with this key, if it exists, whatever its data. */
export function remove(map: string, element: MapElement): Statement {
  return change('delete', map, element)
}

function change(
  operation: 'update' | 'delete',
  map: string,
  { key, data, timeout }: MapElement,
): Statement {
  const keys = loadAll(key)
  const values = loadAll(data, nextBlock(keys.next))
  const registers = { key: keys.first, data: values.first }
  return [
    ...keys.expressions,
    ...values.expressions,
    {
      type: 'dynamic',
      operation,
      set: map,
      ...registers,
      ...(timeout === undefined ? {} : { timeout }),
    },
  ]
}

/** As in nft, data begins in a register of 16 bytes, which is four of the registers counted here. */
function nextBlock(register: Register): Register {
  return FIRST_REGISTER + Math.ceil((register - FIRST_REGISTER) / 4) * 4
}

/** The packet has all bits of `mark`. */
export function hasMark(mark: number): Statement {
  return compare(bits(MARK, hostWord(mark)), 'equal', hostWord(mark))
}

/** The packet does not have all bits of `mark`. */
export function hasNotMark(mark: number): Statement {
  return compare(bits(MARK, hostWord(mark)), 'different', hostWord(mark))
}

/** Sets the bits of `mark` and keeps the others. */
export function setMark(mark: number): Statement {
  return changeMark(hostWord(~mark), hostWord(mark))
}

/** Clears the bits of `mark`, which must be set, and keeps the others. */
export function clearMark(mark: number): Statement {
  return changeMark(hostWord(0xffff_ffff), hostWord(mark))
}

function changeMark(mask: Buffer, xor: Buffer): Statement {
  const { expressions, first } = loadAll([bits(MARK, mask, xor)])
  return [...expressions, { type: 'setMeta', key: 'mark', from: first }]
}

export function verdict(kind: Exclude<Verdict['kind'], 'jump' | 'goto'>): Statement {
  return [{ type: 'verdict', verdict: { kind } }]
}

export function jump(chain: string): Statement {
  return [{ type: 'verdict', verdict: { kind: 'jump', chain } }]
}

export function goto(chain: string): Statement {
  return [{ type: 'verdict', verdict: { kind: 'goto', chain } }]
}

export function masquerade(isFullyRandom: boolean): Statement {
  return [{ type: 'masquerade', isFullyRandom }]
}

export function reject(how: 'tcpReset' | 'portUnreachable'): Statement {
  return [{ type: 'reject', with: how }]
}

/** Counts the packets that come so far. */
export const COUNTER: Statement = [{ type: 'counter' }]

/** The rule continues for packets that exceed a rate. */
export function exceeds(perSecond: number): Statement {
  return [{ type: 'limit', perSecond, burst: perSecond, isOver: true }]
}

/** Sends the packet to the program that reads the group. */
export function logTo(group: number, prefix: string): Statement {
  return [{ type: 'log', group, prefix }]
}

/** A rule that consists of these statements. */
export function rule(...statements: readonly Statement[]): Rule {
  return { expressions: statements.flat() }
}

const MAX_COMMENT = 100

/**
 * A name as the comment of an object, in a form that nft prints and parses within quotes: letters, digits and
 * `._/:-`, at most 100.
 */
export function commentOf(name: string): string {
  return name.slice(0, MAX_COMMENT).replaceAll(/[^A-Za-z0-9._/:-]/g, '_')
}
