import type { EntryId } from '../../forwarding/entry.ts'
import type { ObjectKey } from '../mode.ts'
import { nameOf, kindOf as wordOf } from '../netfilter/objects/object-key.ts'

/**
 * What this mode makes: `entry/shop/cart:http/TCP/4`, a route of the forwarder, and what
 * `../netfilter/object-key.ts` has keys for.
 */
export type Kind = 'entry' | 'set' | 'member' | 'route' | 'rule'

export function kindOf(key: ObjectKey): Kind {
  return wordOf(key) as Kind
}

export function entryKey(id: EntryId): ObjectKey {
  return `entry/${id}` as ObjectKey
}

/** The entry that an `entry` key names. */
export function entryIdOf(key: ObjectKey): EntryId {
  return nameOf(key) as EntryId
}
