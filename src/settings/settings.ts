import { isDeepEqual } from '../lib/equal.ts'
import type { FieldPath, Origin, Settings } from './field.ts'
import type { SettingsTable } from './table.ts'

/** The whole configuration: the given settings, and defaults for the rest. */
export function completeConfiguration<C>(table: SettingsTable<C>, settings: Settings<C>): C {
  const tree: Record<string, unknown> = {}
  for (const [path, field] of table.entries) {
    const setting = settings.get(path)
    put(tree, path, setting === undefined ? field.fallback : setting.value)
  }
  const config = tree as C
  return table.derive?.(config, settings) ?? config
}

/** The origin of a field's value. */
export function originOf<C>(settings: Settings<C>, path: FieldPath<C>): Origin {
  return settings.get(path)?.origin ?? { from: 'default' }
}

/** The value at a path of a configuration. */
export function valueAt<C>(config: C, path: FieldPath<C>): unknown {
  return path
    .split('.')
    .reduce<unknown>((tree, name) => (tree as Record<string, unknown>)[name], config)
}

/** Sets `a.b.c` in a tree of plain objects. Only `tree` itself is changed: objects below it are replaced by changed copies. */
export function put(tree: Record<string, unknown>, path: string, value: unknown): void {
  const [section = '', ...rest] = path.split('.')
  if (rest.length === 0) {
    tree[section] = value
    return
  }
  const below = { ...(tree[section] as Record<string, unknown> | undefined) }
  put(below, rest.join('.'), value)
  tree[section] = below
}

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
    changed.filter(([, field]) => (field.reload ?? 'restart') === reload).map(([path]) => path)
  return { live: of('live'), restart: of('restart') }
}

/** The whole configuration as the object that a file would hold. It has no secrets. */
export function configurationObject<C>(
  table: SettingsTable<C>,
  config: C,
): Record<string, unknown> {
  const { apiVersion, kind } = table.kind
  const tree: Record<string, unknown> = { apiVersion, kind }
  for (const [path, field] of table.entries)
    put(tree, path, field.type.encode(valueAt(config, path)))
  return tree
}

/** The body of /configz: the effective configuration and who set each field. */
export function configzBody<C>(table: SettingsTable<C>, config: C, settings: Settings<C>): string {
  const origins: Record<string, string> = {}
  for (const [path] of table.entries) origins[path] = describeOrigin(settings, path)
  return `${JSON.stringify({ config: configurationObject(table, config), origins }, undefined, 2)}\n`
}

/** The configuration as a file that reads back as itself. */
export async function configurationYaml<C>(table: SettingsTable<C>, config: C): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(configurationObject(table, config), {
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'PLAIN',
  })
}

function describeOrigin<C>(settings: Settings<C>, path: FieldPath<C>): string {
  const origin = originOf(settings, path)
  if (origin.from === 'default') return 'default'
  if (origin.from === 'flag') return `flag --${origin.flag}`
  return `file ${origin.at.file}:${origin.at.line}:${origin.at.column}`
}
