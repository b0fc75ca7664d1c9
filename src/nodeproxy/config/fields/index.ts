import type { FieldPath, FieldsOf } from '../field.ts'
import { clientFields } from './client.ts'
import { conntrackFields } from './conntrack.ts'
import { iptablesFields } from '../../../modes/iptables/driver/fields.ts'
import { ipvsFields } from '../../../modes/ipvs/driver/fields.ts'
import { servingFields } from './serving.ts'
import { trafficFields } from './traffic.ts'
import { userspaceFields } from '../../../modes/userspace/driver/fields.ts'

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
