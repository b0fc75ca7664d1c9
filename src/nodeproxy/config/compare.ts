import { isDeepStrictEqual } from 'node:util'
import type { FieldPath, NodeProxyConfiguration } from './configuration.ts'
import { FIELD_ENTRIES } from './fields/index.ts'
import { valueAt } from './settings.ts'

export interface ConfigurationChange {
  /** Changed fields that a running daemon takes over. */
  readonly live: readonly FieldPath[]
  /** Changed fields that need a new start; one of them refuses the whole change. */
  readonly restart: readonly FieldPath[]
}

/** What a new configuration would change. */
export function compareConfigurations(
  running: NodeProxyConfiguration,
  next: NodeProxyConfiguration,
): ConfigurationChange {
  const changed = FIELD_ENTRIES.filter(
    ([path]) => !isDeepStrictEqual(valueAt(running, path), valueAt(next, path)),
  )
  const of = (reload: 'live' | 'restart') =>
    changed.filter(([, field]) => field.reload === reload).map(([path]) => path)
  return { live: of('live'), restart: of('restart') }
}
