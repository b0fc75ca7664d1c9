import type { FieldPath, FieldsOf } from '../field.ts'
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
