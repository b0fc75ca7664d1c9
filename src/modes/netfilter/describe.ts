import type { ObjectDescription, ObjectKey } from '../mode.ts'
import { objectOf } from './chains/object.ts'
import { kindOf, memberOf, nameOf } from './objects/object-key.ts'
import { familyOfSet } from './sets/set-name.ts'

/**
 * What one of the objects is that modes make alike: chains, jumps, sets, members and policy
 * routes; undefined: something that only one mode makes. `rules` counts those of a chain.
 */
export function describe(key: ObjectKey, rules: number): ObjectDescription | undefined {
  switch (kindOf(key)) {
    case 'rule': {
      const { kind, family, table } = objectOf(key)
      return { kind, family, rules: { table, count: kind === 'jump' ? 1 : rules } }
    }
    case 'set':
      return { kind: 'set', family: familyOfSet(nameOf(key)) }
    case 'member':
      return { kind: 'set_member', family: familyOfSet(memberOf(key).set) }
    case 'route':
      return { kind: 'route', family: nameOf(key) === '6' ? 6 : 4 }
    default:
      return undefined
  }
}
