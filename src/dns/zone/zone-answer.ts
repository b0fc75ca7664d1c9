import type { ServiceKey } from '../../resources/types.ts'
import type { ZoneRecord } from './record.ts'

/**
 * What the zone holds for a name and a type.
 *
 * - `found`: the records. `target` is the name at which a chain of CNAME records leaves the zone; another server knows
 *   what follows. `service` is the only Service that the records come from; undefined when there is none, or
 *   several. `denied` is the reason why a chain ends without a record of the type that was queried (RFC 6604).
 * - `empty`: the name exists, without records of that type (NOERROR, RFC 2308).
 * - `missing`: neither the name nor one below it exists (NXDOMAIN).
 * - `foreign`: the name is not of this zone.
 */
export type ZoneAnswer =
  | {
      readonly kind: 'found'
      readonly answers: readonly ZoneRecord[]
      readonly additionals: readonly ZoneRecord[]
      readonly service: ServiceKey | undefined
      readonly target?: string
      readonly denied?: 'empty' | 'missing'
    }
  | { readonly kind: 'empty' | 'missing' | 'foreign' }

export const EMPTY: ZoneAnswer = Object.freeze({ kind: 'empty' })
export const MISSING: ZoneAnswer = Object.freeze({ kind: 'missing' })
export const FOREIGN: ZoneAnswer = Object.freeze({ kind: 'foreign' })

/** `found` with these records; `empty` when there are none. */
export function foundOrEmpty(
  answers: readonly ZoneRecord[],
  additionals: readonly ZoneRecord[] = [],
  service?: ServiceKey,
): ZoneAnswer {
  return answers.length === 0 ? EMPTY : { kind: 'found', answers, additionals, service }
}
