import type { FieldPath } from './field-path.ts'
import type { Settings } from './settings.ts'
import type { Decoded } from './value-type.ts'

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

/** The value of each command flag: its text (undefined when absent or empty), all its texts, or whether the switch is on. */
export type CommandValues<F extends CommandFlags> = {
  readonly [Name in keyof F]: F[Name] extends { readonly isRepeated: true }
    ? readonly string[]
    : F[Name] extends { readonly value: string }
      ? string | undefined
      : boolean
}

/** A deprecated flag, which is translated to the flag of a setting. */
export interface DeprecatedFlag<C> {
  readonly path: FieldPath<C>
  /** The placeholder of its value in the help. */
  readonly value: string
  /** The text of the setting's flag with the same effect; `settings` are those of the flags before. */
  translate(text: string, settings: Settings<C>): Decoded<string>
}

/** One flag of a setting on the command line. */
export interface GivenFlag<C> {
  readonly path: FieldPath<C>
  readonly flag: string
  readonly text: string
}

/** The settings of a command line. */
export interface GivenFlags<C> {
  /** Settings in the order given; the last of a kind counts, lists add up. */
  readonly settings: readonly GivenFlag<C>[]
  /** Accepted flags without effect, each once. */
  readonly ignored: readonly string[]
}

/** The result of parsing a command line. */
export interface CommandLine<C, F extends CommandFlags> extends GivenFlags<C> {
  readonly commands: CommandValues<F>
}
