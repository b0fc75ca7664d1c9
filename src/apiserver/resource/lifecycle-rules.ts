import type { JsonObject } from '../../lib/json.ts'

/** Fields by which objects of a resource can be selected, apart from metadata. */
export type SelectableFields = Readonly<Record<string, string>>

/** The rules for deleting objects of a kind. */
export interface DeletionRules {
  /**
   * Seconds between the deletion request and the removal. `requested`: those that the request names; undefined: it
   * names none. Absent: objects have no grace period.
   */
  readonly graceSeconds?: (object: JsonObject, requested: number | undefined) => number
  /** Present: the answer to a deletion shows the object as marked, not as it was before. */
  readonly returnsMarked?: true
  /** The object that is marked for deletion, as it is stored; absent: unchanged. */
  readonly marked?: (object: JsonObject) => JsonObject
  /** Further finalizers of a marked object, in addition to `metadata.finalizers`; absent: none. */
  readonly finalizers?: (object: JsonObject) => readonly string[]
  /** Names of objects that are never deleted; absent: none. */
  readonly protectedNames?: readonly string[]
  /** The object that replaces an unreadable one when that is deleted; absent: it is removed. */
  readonly renewed?: (identity: NewIdentity) => JsonObject
}

/** The identity of an object that the server creates. */
export interface NewIdentity {
  readonly name: string
  readonly uid: string
  /** RFC 3339. */
  readonly now: string
}

/** The rules of the one kind whose objects contain all namespaced objects. */
export interface ContainerRules {
  /** Whether the object with these fields no longer accepts new objects in it. */
  readonly isClosed: (fields: SelectableFields) => boolean
  /** Whether an object that is marked for deletion only waits for its content to be deleted. */
  readonly waitsForContent: (object: JsonObject) => boolean
  /** Whether an update reports that the object is empty. */
  readonly reportsEmpty: (next: JsonObject, old: JsonObject) => boolean
}

/** Objects that the server removes when they are old. */
export interface ExpiryRules {
  /** Milliseconds from `lastSeen` to the removal. */
  readonly lifetimeMs: number
  /** Milliseconds since the epoch; infinite for an object without a readable time. */
  readonly lastSeen: (object: JsonObject) => number
}
