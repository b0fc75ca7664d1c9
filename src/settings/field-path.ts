import type { PortRange } from '../lib/port-range.ts'
import type { SocketAddress } from './network-types.ts'

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
