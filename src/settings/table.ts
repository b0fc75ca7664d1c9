import type { CommandFlags, DeprecatedFlag } from './command-line.ts'
import type { AnyField, FieldsOf } from './field.ts'
import type { FieldPath } from './field-path.ts'
import type { FileKind, ForeignKind } from './file-kind.ts'
import type { ProblemCodes } from './problem.ts'
import type { Rule } from './rules.ts'
import type { Settings } from './settings.ts'

/** Everything that a program declares about its settings. `C` is the configuration that they make up. */
export interface TableSource<C, F extends CommandFlags> {
  /** As it is called: `node-proxy`. */
  readonly program: string
  /** What it does, in a sentence for the head of the help. */
  readonly about: string
  /** A field for every leaf of `C`; the compiler reports those that are missing. */
  readonly fields: FieldsOf<C>
  /** Its commands beside the flags, with one line each for the help. */
  readonly subcommands?: readonly { readonly name: string; readonly summary: string }[]
  readonly kind: FileKind
  readonly foreignKinds: readonly ForeignKind[]
  readonly commandFlags: F
  readonly deprecatedFlags: ReadonlyMap<string, DeprecatedFlag<C>>
  /** Flags that existing deployments carry and that mean nothing here, with the reason. */
  readonly ignoredFlags: ReadonlyMap<string, string>
  /** Defaults that depend on other values: `settings` holds the given ones. */
  readonly derive?: (config: C, settings: Settings<C>) => C
  readonly rules: readonly Rule<C>[]
  readonly codes: ProblemCodes
}

/**
 * The one table of settings of a program. Files, flags, help, reload, written
 * configurations and the documentation are derived from it.
 */
export interface SettingsTable<C, F extends CommandFlags = CommandFlags> extends TableSource<C, F> {
  /** The fields in order, without the types of their values. */
  readonly entries: readonly (readonly [path: FieldPath<C>, field: AnyField])[]
  /** The fields by path, for texts that may be no path. */
  readonly byPath: ReadonlyMap<string, AnyField>
  /** Paths of maps of fields: `ipvs`, `ipvs.gracefulTermination`. */
  readonly sections: ReadonlySet<string>
}

/** Builds the table of a program from the definitions of its fields. */
export function settingsTable<C, F extends CommandFlags>(
  source: TableSource<C, F>,
): SettingsTable<C, F> {
  const entries = Object.entries(source.fields) as unknown as [FieldPath<C>, AnyField][]
  const byPath = new Map<string, AnyField>(entries)
  const ignored = source.foreignKinds.flatMap(({ ignoredFields }) => [...ignoredFields.keys()])
  const sections = new Set([...byPath.keys(), ...ignored].flatMap(sectionsOf))
  return { ...source, entries, byPath, sections }
}

function sectionsOf(path: string): readonly string[] {
  const names = path.split('.')
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join('.'))
}
