import type { ModeDefinition } from '../../../modes/definition/mode-definition.ts'
import type { AnyField, FieldsOf } from '../../../settings/field.ts'
import { announcementFields } from './announcement.ts'
import { clientFields } from './client.ts'
import type { CommonConfiguration, NodeProxyConfiguration } from './configuration.ts'
import { modeField } from './mode-registry.ts'
import { networkPolicyFields } from './network-policy.ts'
import { servingFields } from './serving.ts'
import { conntrackFields, netfilterFields, trafficFields } from './traffic.ts'

/**
 * All fields, in the order of the documentation: the common fields, which the compiler checks against
 * CommonConfiguration, with those of the modes in between, which it checks in the definition of each.
 */
export function fieldsOf(
  modes: readonly Pick<ModeDefinition, 'name' | 'fields'>[],
): FieldsOf<NodeProxyConfiguration> {
  const beforeModes = { ...clientFields, mode: modeField(modes), ...netfilterFields }
  const afterModes = {
    ...trafficFields,
    ...networkPolicyFields,
    ...announcementFields,
    ...servingFields,
    ...conntrackFields,
  }
  const common: FieldsOf<CommonConfiguration> = { ...beforeModes, ...afterModes }
  const ofModes = modes.flatMap(({ fields }) => Object.entries<AnyField>(fields))
  // A field that two parts declare keeps its first position.
  const all = { ...beforeModes, ...Object.fromEntries(ofModes), ...common }
  return Object.fromEntries(
    bySection(Object.entries<AnyField>(all)),
  ) as FieldsOf<NodeProxyConfiguration>
}

/** Fields of one section stand together, sections in the order of their first field. */
function bySection(fields: readonly [string, AnyField][]): readonly [string, AnyField][] {
  const groups = Map.groupBy(fields, ([path]) => path.split('.')[0])
  return [...groups.values()].flat()
}
