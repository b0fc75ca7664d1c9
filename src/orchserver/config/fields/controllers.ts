import type { FieldsOf } from '../../../settings/field.ts'
import type { OrchServerConfiguration } from '../configuration.ts'
import { CONTROLLER_NAMES, fieldTypes } from '../field-types.ts'

type Controlling = 'controllers' | 'loadBalancer.addressPools'

/** What the cluster does by itself. */
export const CONTROLLER_FIELDS: FieldsOf<OrchServerConfiguration, Controlling> = {
  controllers: {
    flag: 'controllers',
    type: fieldTypes.controllers,
    fallback: ['*'],
    doc: `Controllers to run, by name: * stands for all, -name leaves one out. Leave out those that another controller manager runs. They are ${CONTROLLER_NAMES.join(', ')}.`,
    reload: 'restart',
  },
  'loadBalancer.addressPools': {
    flag: 'load-balancer-pool',
    type: fieldTypes.addressPools,
    fallback: [],
    doc: 'Networks such as 192.0.2.0/24 and ranges such as 192.0.2.10-192.0.2.20, of either family, that Services of type LoadBalancer get their addresses from. Empty: another controller assigns them.',
    reload: 'restart',
  },
}
