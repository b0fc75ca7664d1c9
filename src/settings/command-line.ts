import type { FieldPath } from './field-path.ts'
import type { Settings } from './settings.ts'
import type { Decoded } from './value-type.ts'

/** A flag that is no setting of the file. */
export interface CommandFlag {
  /** What stands for its value in the help; absent: a switch. */
  readonly value?: string
  readonly doc: string
}

export type CommandFlags = Readonly<Record<string, CommandFlag>>

/** What was given for each of them: text, or whether the switch is on. An empty text is none. */
export type CommandValues<F extends CommandFlags> = {
  readonly [Name in keyof F]: F[Name] extends { readonly value: string }
    ? string | undefined
    : boolean
}

/** A flag that gives way to that of a setting. */
export interface DeprecatedFlag<C> {
  readonly path: FieldPath<C>
  /** What stands for its value in the help. */
  readonly value: string
  /** The flag of the setting that has this effect after the flags that gave `settings`. */
  translate(text: string, settings: Settings<C>): Decoded<string>
}

export interface GivenFlag<C> {
  readonly path: FieldPath<C>
  readonly flag: string
  readonly text: string
}

/** The settings of a command line. */
export interface GivenFlags<C> {
  /** Settings in the order given; the last of a kind counts, lists add up. */
  readonly settings: readonly GivenFlag<C>[]
  /** Flags that mean nothing here, each once. */
  readonly ignored: readonly string[]
}

/** What a command line requests. */
export interface CommandLine<C, F extends CommandFlags> extends GivenFlags<C> {
  readonly commands: CommandValues<F>
}
