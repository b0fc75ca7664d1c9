import type { JsonObject } from '../../lib/json.ts'
import type { CollectionName } from '../objects/collections.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'

interface Target {
  readonly collection: CollectionName
}

/** One change that a reconcile asks for. */
export type Write =
  | (Target & {
      readonly verb: 'create'
      readonly namespace: string
      /** Empty: the server makes up a name from `generateName`. */
      readonly name: string
      readonly body: JsonObject
    })
  | (Target & {
      readonly verb: 'patch'
      /** The object as it was seen: it is changed only if it still is at this version. */
      readonly meta: ObjectMeta
      /** A merge patch (RFC 7396). */
      readonly body: JsonObject
    })
  | (Target & {
      readonly verb: 'delete'
      /** The object as it was seen: it is deleted only if it still is at this version. */
      readonly meta: ObjectMeta
    })
