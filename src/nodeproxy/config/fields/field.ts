import type * as settings from '../../../settings/field.ts'
import type * as paths from '../../../settings/field.ts'
import type { NodeProxyConfiguration } from './configuration.ts'

/** `iptables.syncPeriod` and so on: every leaf of the configuration. */
export type FieldPath = paths.FieldPath<NodeProxyConfiguration>

/** A field for every leaf of the configuration that `Paths` names. */
export type FieldsOf<Paths extends FieldPath> = settings.FieldsOf<NodeProxyConfiguration, Paths>

/** The paths that start with `Section.`. */
export type PathsUnder<Section extends string> = settings.PathsUnder<
  NodeProxyConfiguration,
  Section
>
