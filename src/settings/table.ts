import type { AnyField, FieldPath, FieldsOf, Settings } from './field.ts'
import type { Decoded, Raw } from './value-type.ts'

/** Everything that a program declares about its settings. `C` is the configuration that they make up. */
export interface TableSource<C, F extends CommandFlags> {
  /** As it is called: `node-proxy`. */
  readonly program: string
  /** What it does, in a sentence for the head of the help. */
  readonly about: string
  /** A field for every leaf of `C`; the compiler reports those that are missing. */
  readonly fields: FieldsOf<C>
  /** Its commands, with one line each for the help. */
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

/** A flag that is no setting of the file. */
export interface CommandFlag {
  /** The placeholder of its value in the help; absent: the flag is a switch. */
  readonly value?: string
  /** Whether it may be given several times; all its values count, also empty ones. */
  readonly isRepeated?: true
  readonly doc: string
}

/** Flags by name, without dashes. */
export type CommandFlags = Readonly<Record<string, CommandFlag>>

/** A deprecated flag, which is translated to the flag of a setting. */
export interface DeprecatedFlag<C> {
  readonly path: FieldPath<C>
  /** The placeholder of its value in the help. */
  readonly value: string
  /** The text of the setting's flag with the same effect; `settings` are those of the flags before. */
  translate(text: string, settings: Settings<C>): Decoded<string>
}

/** How a configuration file names its kind. */
export interface FileKind {
  readonly apiVersion: string
  readonly kind: string
}

/** The kind of another tool, whose files are accepted as they are. */
export interface ForeignKind extends FileKind {
  /**
   * Fields of that tool that mean nothing here, with the reason. Fields below
   * them are ignored, too.
   */
  readonly ignoredFields: ReadonlyMap<string, string>
  /** Defaults of that tool that differ from those here. */
  readonly impliedValues?: readonly ImpliedValue[]
}

/** The value of a field that a file leaves out or has empty, where another field has a certain value. */
export interface ImpliedValue {
  readonly field: string
  readonly value: Raw
  readonly where: { readonly field: string; readonly is: Raw }
}

/** Values that are valid each by itself and do not go together. */
export interface Conflict<C> {
  /** The fields whose values conflict; the message names the first that was set. */
  readonly paths: readonly [FieldPath<C>, ...FieldPath<C>[]]
  readonly message: string
}

/** Rules about several fields. */
export type Rule<C> = (config: C) => Conflict<C> | undefined

/** The error codes of a program for problems of its settings; `docs/errors.md` explains them. */
export interface ProblemCodes {
  /** A flag is unknown, wrong, ignored or deprecated. */
  readonly flag: string
  /** The file cannot be read. */
  readonly unreadable: string
  /** It is not YAML, has a field twice, or is too large. */
  readonly syntax: string
  /** It is of no kind that is accepted. */
  readonly kind: string
  /** A field does not exist. */
  readonly field: string
  /** A field cannot have this value. */
  readonly value: string
  /** Values contradict each other. */
  readonly conflict: string
  /** A warning: a field means nothing here. */
  readonly ignored: string
}
