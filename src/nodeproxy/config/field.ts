import type { FieldPath, ValueAt } from './configuration.ts'
import type { ValueType } from './value-type.ts'

/**
 * Everything there is to know about one setting. YAML decoding, flags, help,
 * reload, `--write-config-to`, /configz and the documentation all read this.
 */
export interface Field<T> {
  /** Without the dashes. */
  readonly flag: string
  readonly type: ValueType<T>
  readonly fallback: T
  /** One or two sentences without a line break. */
  readonly doc: string
  /** Whether a running daemon takes a new value; otherwise it must be restarted. */
  readonly reload: 'live' | 'restart'
  /**
   * In a KubeProxyConfiguration an empty, zero or missing value of this field
   * means "the default", because that is how such files are generated.
   */
  readonly zeroIsUnset?: true
  /** A default that depends on another field, for documents: `[::]:10256 when …`. */
  readonly fallbackNote?: string
}

/** A field for every leaf of the configuration that `Paths` names. */
export type FieldsOf<Paths extends FieldPath> = { readonly [P in Paths]: Field<ValueAt<P>> }

/** The paths that start with `Section.`. */
export type PathsUnder<Section extends string> = Extract<FieldPath, `${Section}.${string}`>
