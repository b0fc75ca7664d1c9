import type { JsonObject } from '../../lib/json.ts'

/** Fields by which objects of a resource can be selected, apart from metadata. */
export type SelectableFields = Readonly<Record<string, string>>

/** What is special about the deletion of a kind's objects. */
export interface DeletionRules {
  /**
   * Seconds between the deletion request and the removal, when the request names `requested`.
   * Absent: none.
   */
  readonly graceSeconds?: (object: JsonObject, requested: number | undefined) => number
  /** Present: the answer to a deletion shows the object as marked, not as it was before. */
  readonly returnsMarked?: true
  /** The object that is marked for deletion, as it is stored; absent: unchanged. */
  readonly marked?: (object: JsonObject) => JsonObject
  /** What keeps a marked object beside `metadata.finalizers`; absent: nothing. */
  readonly finalizers?: (object: JsonObject) => readonly string[]
  /** Names of objects that are never deleted; absent: none. */
  readonly protectedNames?: readonly string[]
  /** The object that takes the place of one that cannot be read; absent: it is removed. */
  readonly renewed?: (identity: NewIdentity) => JsonObject
}

/** Of an object that the server creates. */
export interface NewIdentity {
  readonly name: string
  readonly uid: string
  /** RFC 3339. */
  readonly now: string
}

/** Of the one kind whose objects contain the namespaced objects of all kinds. */
export interface ContainerRules {
  /** Whether nothing may be created in the object with these fields any more. */
  readonly isClosed: (fields: SelectableFields) => boolean
  /** Whether only its content keeps an object that is marked for deletion. */
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
