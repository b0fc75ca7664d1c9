import type { PortRange } from '../lib/port-range.ts'
import type { Position } from '../lib/yaml.ts'
import type { SocketAddress } from './network-types.ts'
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
  /** `live`: a running server takes a new value. Otherwise it must be restarted. */
  readonly reload?: 'live'
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

/** The types of single values, although some of them are objects. Any other object is a section. */
type Leaf = string | number | boolean | undefined | readonly unknown[] | SocketAddress | PortRange

/** `server.port` and so on: every leaf of a configuration. */
export type FieldPath<C> = {
  [K in Extract<keyof C, string>]: C[K] extends Leaf ? K : `${K}.${FieldPath<C[K]>}`
}[Extract<keyof C, string>]

/** The type of the value at a path. */
export type ValueAt<C, P extends string> = P extends `${infer Section}.${infer Rest}`
  ? Section extends keyof C
    ? ValueAt<C[Section], Rest>
    : never
  : P extends keyof C
    ? C[P]
    : never

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
