import { contentHash } from '../../../lib/hash.ts'
import type { Family } from '../../../lib/ip.ts'
import type { Digest, ObjectKey } from '../../mode.ts'

/** The tables of iptables that modes write. */
export type Table = 'mangle' | 'nat' | 'filter'

/** A chain of one family's table, ours or a built-in one. */
export interface ChainLocation {
  readonly family: Family
  readonly table: Table
  readonly chain: string
}

/** The built-in chains of each table. */
export const BUILT_IN: Readonly<Record<Table, readonly string[]>> = {
  mangle: ['PREROUTING', 'INPUT', 'FORWARD', 'OUTPUT', 'POSTROUTING'],
  nat: ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'],
  filter: ['INPUT', 'FORWARD', 'OUTPUT'],
}

/** A chain of ours. Its rules are not part of the object, but of its digest. */
export interface ChainObject extends ChainLocation {
  readonly kind: 'chain'
}

/** Our rule in a built-in chain, always its first. */
export interface JumpObject extends ChainLocation {
  readonly kind: 'jump'
  /** Without `-A CHAIN`. */
  readonly rule: string
}

/** The objects that are written into tables; `keyOf` has a key for each. */
export type RuleObject = ChainObject | JumpObject

/** `4/nat/NPROXY-SERVICES`, `4/nat/PREROUTING>-j NPROXY-SERVICES`. */
export function keyOf(object: RuleObject): ObjectKey {
  const place = `${object.family}/${object.table}/${object.chain}`
  return (object.kind === 'chain' ? place : `${place}>${object.rule}`) as ObjectKey
}

const KEY = /^([46])\/(mangle|nat|filter)\/([^>]+)(?:>(.+))?$/

/** The inverse of `keyOf`; keys of other kinds of objects throw a TypeError. */
export function objectOf(key: ObjectKey): RuleObject {
  const match = KEY.exec(key)
  if (match === null) throw new TypeError(`not a chain or jump: ${JSON.stringify(key)}`)
  const [, family, table, chain = '', rule] = match
  const place = { family: family === '4' ? 4 : 6, table: table as Table, chain } as const
  return rule === undefined ? { kind: 'chain', ...place } : { kind: 'jump', ...place, rule }
}

/** The digest of a chain: of its rules in their order, each without `-A CHAIN`. */
export function digestRules(rules: readonly string[]): Digest {
  return contentHash(rules.join('\n')) as Digest
}

/** The digest of a jump that occurs `count` times in its chain. The wanted digest is that of a single jump. */
export function digestCount(count: number): Digest {
  return count as Digest
}

/**
 * The digest of a jump that occurs `count` times, but behind a jump of another Service proxy, whose rules decide first.
 * It is negative, and so it differs from the wanted one.
 */
export function digestBehind(count: number): Digest {
  return -count as Digest
}

/** How often a jump with this digest occurs in its chain. */
export function countOfDigest(digest: Digest | undefined): number {
  return Math.abs(digest ?? 0)
}
