import type { ObjectDescription, ObjectKey } from '../mode.ts'
import { objectOf } from '../netfilter/chains/object.ts'
import { memberOf, nameOf } from '../netfilter/object-key.ts'
import { familyOfSet } from './names.ts'
import { kindOf } from './object.ts'

/** What an object is; `rules` counts those of a chain. */
export function describe(key: ObjectKey, rules = 0): ObjectDescription {
  switch (kindOf(key)) {
    case 'rule': {
      const { kind, family, table } = objectOf(key)
      return { kind, family, rules: { table, count: kind === 'jump' ? 1 : rules } }
    }
    case 'entry':
      return { kind: 'forwarder_route', family: key.endsWith('/6') ? 6 : 4 }
    case 'set':
      return { kind: 'set', family: familyOfSet(nameOf(key)) }
    case 'member':
      return { kind: 'set_member', family: familyOfSet(memberOf(key).set) }
    case 'route':
      return { kind: 'route', family: nameOf(key) === '6' ? 6 : 4 }
  }
}
