import type { FieldPath } from './field-path.ts'
import { originOf, put, type Settings, valueAt } from './settings.ts'
import type { SettingsTable } from './table.ts'

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
