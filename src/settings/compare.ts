import { isDeepEqual } from '../lib/equal.ts'
import type { FieldPath } from './field-path.ts'
import { valueAt } from './settings.ts'
import type { SettingsTable } from './table.ts'

export interface ConfigurationChange<C> {
  /** Changed fields that a running server takes over. */
  readonly live: readonly FieldPath<C>[]
  /** Changed fields that need a new start; one of them refuses the whole change. */
  readonly restart: readonly FieldPath<C>[]
}

/** What a new configuration would change. */
export function compareConfigurations<C>(
  table: SettingsTable<C>,
  running: C,
  next: C,
): ConfigurationChange<C> {
  const changed = table.entries.filter(
    ([path]) => !isDeepEqual(valueAt(running, path), valueAt(next, path)),
  )
  const of = (reload: 'live' | 'restart') =>
    changed.filter(([, field]) => field.reload === reload).map(([path]) => path)
  return { live: of('live'), restart: of('restart') }
}
