import type { ObjectDescription, ObjectKey } from '../../mode.ts'
import { describe as describeShared } from '../../netfilter/describe.ts'
import { kindOf, serverIdOf } from './object.ts'

/** What an object is; `rules` counts those of a chain. */
export function describe(key: ObjectKey, rules = 0): ObjectDescription {
  if (kindOf(key) === 'vs') return { kind: 'virtual_server', family: serverIdOf(key).family }
  return describeShared(key, rules) ?? { kind: 'relay', family: 4 }
}
