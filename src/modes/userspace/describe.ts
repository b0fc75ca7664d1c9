import type { ObjectDescription, ObjectKey } from '../mode.ts'
import { describe as describeShared } from '../netfilter/describe.ts'

/** What an object is; `rules` counts those of a chain. */
export function describe(key: ObjectKey, rules = 0): ObjectDescription {
  return (
    describeShared(key, rules) ?? {
      kind: 'forwarder_route',
      family: key.endsWith('/6') ? 6 : 4,
    }
  )
}
