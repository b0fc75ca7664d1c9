import type { FieldPath, ValueAt } from './field-path.ts'
import type { ValueType } from './value-type.ts'

/**
 * Everything there is to know about one setting. YAML decoding, flags, help,
 * reload, written configurations and the documentation all read this.
 */
export interface Field<T> {
  /** Without the dashes. */
  readonly flag: string
  readonly type: ValueType<T>
  readonly fallback: T
  /** One or two sentences without a line break. */
  readonly doc: string
  /** Whether a running server takes a new value; otherwise it must be restarted. */
  readonly reload: 'live' | 'restart'
  /**
   * In a file of another tool's kind an empty, zero or missing value of this
   * field means "the default", because that is how such files are generated.
   */
  readonly zeroIsUnset?: true
  /** A default that depends on another field, for documents: `[::]:10256 when …`. */
  readonly fallbackNote?: string
}

/** A field without the type of its value. */
export type AnyField = Field<unknown>

/** A field for every leaf of the configuration `C` that `Paths` names. */
export type FieldsOf<C, Paths extends FieldPath<C> = FieldPath<C>> = {
  readonly [P in Paths]: Field<ValueAt<C, P>>
}

/** The paths of `C` that start with `Section.`. */
export type PathsUnder<C, Section extends string> = Extract<FieldPath<C>, `${Section}.${string}`>
