import { isDeepEqual } from '../lib/equal.ts'
import type { FieldPath } from './field-path.ts'
import { valueAt } from './settings.ts'
import type { SettingsTable } from './table.ts'

/** The fields that differ between two configurations. */
export interface ConfigurationChange<C> {
  /** Changed fields that a running program applies. */
  readonly live: readonly FieldPath<C>[]
  /** Changed fields that need a restart; one of them makes the program refuse the whole change. */
  readonly restart: readonly FieldPath<C>[]
}

/** Compares a new configuration with the running one. */
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
