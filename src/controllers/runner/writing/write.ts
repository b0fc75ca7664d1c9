import type { JsonObject } from '../../../lib/json.ts'
import type { CollectionName } from '../../cache/collections.ts'
import type { ObjectMeta } from '../../objects/object-meta.ts'

/** A new object. */
export interface Create {
  readonly verb: 'create'
  readonly collection: CollectionName
  readonly namespace: string
  /** Empty: the server makes up a name from `generateName`. */
  readonly name: string
  readonly body: JsonObject
}

/** A change of the object as it was seen: nothing happens if it is not at this version any more. */
export interface Patch {
  readonly verb: 'patch'
  readonly collection: CollectionName
  readonly meta: ObjectMeta
  /** The part that is written: nothing but the status, or also the finalizers of a Namespace. */
  readonly subresource?: 'status' | 'finalize'
  /** A merge patch (RFC 7396); of a status a strategic one, which knows conditions by their type. */
  readonly body: JsonObject
}

/** The deletion of the object as it was seen: normally it is not deleted at any other version. */
export interface Deletion {
  readonly verb: 'delete'
  readonly collection: CollectionName
  readonly meta: ObjectMeta
  /** It is deleted only if the server says of each of these that it is gone. */
  readonly absent?: readonly ObjectIdentity[]
  /** It is deleted only if the server says of this one that it is still there. */
  readonly present?: ObjectIdentity
  /** It is deleted only if the server shows nothing of this collection in its namespace. */
  readonly emptied?: CollectionName
  /** Whatever became of it since: only who it is counts. */
  readonly anyVersion?: true
  /** Seconds that a Pod has to end; absent: as many as it asks for. */
  readonly graceSeconds?: number
}

/** An Event: told to people, and read by no controller. */
export interface Recording {
  readonly verb: 'record'
  readonly namespace: string
  readonly body: JsonObject
}

/** One object among those that have had, or will have, its name. */
export interface ObjectIdentity {
  readonly collection: CollectionName
  readonly namespace: string
  readonly name: string
  /** Empty: any of that name. */
  readonly uid: string
}

/** One change that a reconcile asks for. */
export type Write = Create | Patch | Deletion | Recording
