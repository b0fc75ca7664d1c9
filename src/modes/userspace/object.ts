import type { EntryId } from '../../forwarding/entry.ts'
import type { ObjectDescription, ObjectKey } from '../mode.ts'
import { kindOf as firstWord, nameOf } from '../netfilter/object-key.ts'
import { describe as describeShared } from '../netfilter/rule.ts'

/**
 * Kinds of objects, the first word of their keys. `entry/shop/cart:http/TCP/4` is a route of the
 * forwarder; `set`, `member` and `rule` are in the kernel, and so is `route`, the policy route
 * (`../netfilter/object-key.ts`).
 */
export type Kind = 'entry' | 'set' | 'member' | 'route' | 'rule'

/** The first word of a key of this mode. */
export function kindOf(key: ObjectKey): Kind {
  return firstWord(key) as Kind
}

/** `entry/shop/cart:http/TCP/4`: the key of the route for this entry. */
export function entryKey(id: EntryId): ObjectKey {
  return `entry/${id}` as ObjectKey
}

/** The entry that an `entry` key names. */
export function entryIdOf(key: ObjectKey): EntryId {
  return nameOf(key) as EntryId
}

/** What an object is; `rules` counts those of a chain. */
export function describe(key: ObjectKey, rules = 0): ObjectDescription {
  return (
    describeShared(key, rules) ?? {
      kind: 'forwarder_route',
      family: key.endsWith('/6') ? 6 : 4,
    }
  )
}
