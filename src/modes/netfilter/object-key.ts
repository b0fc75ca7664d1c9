import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'

/**
 * Keys of the objects that modes create besides chains and jumps (whose keys begin with their family):
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

/** The first word of a key: `set`, `member`, …; `rule` for chains and jumps. */
export function kindOf(key: ObjectKey): string {
  const kind = key.slice(0, key.indexOf('/'))
  return kind === '4' || kind === '6' ? 'rule' : kind
}

/** The keys of one or several kinds, in their order. */
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

/** Digest of members without a mark, sets and routes: for these only existence is compared. */
export const PRESENT = 1 as Digest

/** Digest of a set, a route or a relay of ours that differs from what we create. */
export const ALTERED = 2 as Digest
