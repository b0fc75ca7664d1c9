import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'

/**
 * Keys of what modes make besides chains and jumps, whose keys begin with their family:
 * `set/NPVS-4-SERVICES`, `member/NPVS-4-SERVICES/10.96.0.1,tcp:80`, `route/4`.
 */
export function setKey(name: string): ObjectKey {
  return `set/${name}` as ObjectKey
}

/** `member`: as `memberText` of the kernel's sets writes it. */
export function memberKey(set: string, member: string): ObjectKey {
  return `member/${set}/${member}` as ObjectKey
}

/** The policy route of a family. */
export function routeKey(family: Family): ObjectKey {
  return `route/${family}` as ObjectKey
}

/** The first word of a key: `set`, `member`, …; `rule` of chains and jumps. */
export function kindOf(key: ObjectKey): string {
  const kind = key.slice(0, key.indexOf('/'))
  return kind === '4' || kind === '6' ? 'rule' : kind
}

/** Those of one kind or several, in their order. */
export function ofKind(
  keys: readonly ObjectKey[],
  ...kinds: readonly string[]
): readonly ObjectKey[] {
  return keys.filter((key) => kinds.includes(kindOf(key)))
}

/** The part after the kind: a set's name, a family. */
export function nameOf(key: ObjectKey): string {
  return key.slice(key.indexOf('/') + 1)
}

/** The set and the member that a `member` key names. */
export function memberOf(key: ObjectKey): { readonly set: string; readonly member: string } {
  const [, set = '', member = ''] = /^member\/([^/]+)\/(.+)$/.exec(key) ?? []
  return { set, member }
}

/** Members without a mark, sets and routes are right when they are there. */
export const PRESENT = 1 as Digest

/** A set, a route or a relay of ours that is otherwise than we make it. */
export const ALTERED = 2 as Digest
