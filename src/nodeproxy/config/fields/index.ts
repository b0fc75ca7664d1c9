import type { FieldPath } from '../configuration.ts'
import type { Field, FieldsOf } from '../field.ts'
import { clientFields } from './client.ts'
import { conntrackFields } from './conntrack.ts'
import { iptablesFields } from './iptables.ts'
import { ipvsFields } from './ipvs.ts'
import { servingFields } from './serving.ts'
import { trafficFields } from './traffic.ts'
import { userspaceFields } from './userspace.ts'

/** The one table of settings; the compiler holds it complete against NodeProxyConfiguration. */
export const FIELDS: FieldsOf<FieldPath> = {
  ...clientFields,
  ...iptablesFields,
  ...ipvsFields,
  ...userspaceFields,
  ...trafficFields,
  ...servingFields,
  ...conntrackFields,
}

export type AnyField = Field<unknown>

/** The table by path, where the type of the value does not matter. */
export const FIELD_ENTRIES: readonly (readonly [path: FieldPath, field: AnyField])[] =
  Object.entries(FIELDS) as [FieldPath, AnyField][]

/** The table for lookups of words that may be no path at all. */
export const FIELD_BY_PATH: ReadonlyMap<string, AnyField> = new Map(FIELD_ENTRIES)
