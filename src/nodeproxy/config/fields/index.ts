import type { ModeDefinition } from '../../../modes/definition/mode-definition.ts'
import type { AnyField, FieldsOf } from '../../../settings/field.ts'
import { clientFields } from './client.ts'
import type { CommonConfiguration, NodeProxyConfiguration } from './configuration.ts'
import { conntrackFields } from './conntrack.ts'
import { modeField } from './mode.ts'
import { netfilterFields } from './netfilter.ts'
import { servingFields } from './serving.ts'
import { trafficFields } from './traffic.ts'

/**
 * The one table of settings: the common fields, which the compiler checks against
 * CommonConfiguration, and those of the modes, which it checks in the definition of each.
 */
export function fieldsOf(
  modes: readonly Pick<ModeDefinition, 'name' | 'fields'>[],
): FieldsOf<NodeProxyConfiguration> {
  const before = { ...clientFields, mode: modeField(modes), ...netfilterFields }
  const after = { ...trafficFields, ...servingFields, ...conntrackFields }
  const common: FieldsOf<CommonConfiguration> = { ...before, ...after }
  const parts = [before, ...modes.map(({ fields }) => fields), common]
  const all = parts.flatMap((part) => Object.entries<AnyField>(part))
  return Object.fromEntries(bySection(all)) as FieldsOf<NodeProxyConfiguration>
}

/** Fields of one section stand together, sections in the order of their first field. */
function bySection(fields: readonly [string, AnyField][]): readonly [string, AnyField][] {
  const groups = Map.groupBy(fields, ([path]) => path.split('.')[0])
  return [...groups.values()].flat()
}
