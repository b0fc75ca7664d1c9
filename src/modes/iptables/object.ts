import { contentHash } from '../../lib/hash.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'

export type Table = 'nat' | 'filter'

/** A chain of ours with its rules, without `-A CHAIN`. */
export interface ChainObject {
  readonly kind: 'chain'
  readonly family: Family
  readonly table: Table
  readonly chain: string
}

/** Our rule in a built-in chain, always its first. */
export interface JumpObject {
  readonly kind: 'jump'
  readonly family: Family
  readonly table: Table
  readonly chain: string
  readonly rule: string
}

export interface SetObject {
  readonly kind: 'set'
  readonly name: string
}

export type IptablesObject = ChainObject | JumpObject | SetObject

/** `4/nat/NPROXY-SERVICES`, `4/nat/PREROUTING>-j NPROXY-SERVICES`, `set/NPROXY-A4-…`. */
export function keyOf(object: IptablesObject): ObjectKey {
  switch (object.kind) {
    case 'chain':
      return `${object.family}/${object.table}/${object.chain}` as ObjectKey
    case 'jump':
      return `${object.family}/${object.table}/${object.chain}>${object.rule}` as ObjectKey
    case 'set':
      return `set/${object.name}` as ObjectKey
  }
}

const KEY = /^([46])\/(nat|filter)\/([^>]+)(?:>(.+))?$/

/** The inverse of `keyOf`. */
export function objectOf(key: ObjectKey): IptablesObject {
  if (key.startsWith('set/')) return { kind: 'set', name: key.slice(4) }
  const match = KEY.exec(key)
  if (match === null) throw new TypeError(`not an iptables object: ${JSON.stringify(key)}`)
  const [, family, table, chain = '', rule] = match
  const place = { family: family === '4' ? 4 : 6, table: table as Table, chain } as const
  return rule === undefined ? { kind: 'chain', ...place } : { kind: 'jump', ...place, rule }
}

export function digestRules(rules: readonly string[]): Digest {
  return contentHash(rules.join('\n')) as Digest
}

/** A jump is right when it stands in its chain exactly once. */
export function digestCount(count: number): Digest {
  return count as Digest
}
