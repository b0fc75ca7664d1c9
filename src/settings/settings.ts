import type { Position } from '../lib/yaml.ts'
import type { AnyField } from './field.ts'
import type { FieldPath } from './field-path.ts'

/** Where a value comes from. */
export type Origin =
  | { readonly from: 'default' }
  | { readonly from: 'file'; readonly at: Position }
  | { readonly from: 'flag'; readonly flag: string }

/** One value of a file or flag, checked by its field. */
export interface Setting {
  readonly value: unknown
  readonly origin: Origin
}

/** The values that a file or flags set, by field. */
export type Settings<C> = ReadonlyMap<FieldPath<C>, Setting>

/** The fields of a configuration in order, and the defaults that depend on other values. */
export interface FieldList<C> {
  readonly entries: readonly (readonly [path: FieldPath<C>, field: AnyField])[]
  readonly derive?: (config: C, settings: Settings<C>) => C
}

/** The whole configuration: the given settings, and defaults for the rest. */
export function completeConfiguration<C>(table: FieldList<C>, settings: Settings<C>): C {
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

/** Sets `a.b.c` in a tree of plain objects, without changing those below `tree`. */
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
