import type { JsonObject } from '../../lib/json.ts'

/** The bytes of an object, and the revision to show with it; 0: the object has none yet. */
export interface Shown {
  readonly value: Buffer
  readonly revision: number
}

/** One way of writing objects in answers. */
export interface AnswerForm {
  readonly contentType: string
  object(shown: Shown): Buffer
  /** The list is generated while it is sent. */
  list(items: readonly Shown[], meta: ListMeta): Iterable<Buffer>
}

/** A form that watches can also use: whole objects, their metadata, or rows of a table. */
export interface Representation extends AnswerForm {
  /** The key of cached frames: forms with the same id produce the same bytes. */
  readonly id: string
  /** The object of a watch event; the first event of a watch may contain more. */
  event(shown: Shown, first: boolean): Buffer
  /** Whether the first event of a watch differs from later ones. */
  readonly firstDiffers: boolean
}

/** The metadata of a list. */
export interface ListMeta {
  readonly revision: number
  /** The token for the next page; absent on the last page. */
  readonly continueToken?: string
  /** The number of items on later pages; absent if a selector makes it unknown. */
  readonly remaining?: number
}

export function listMetadata(meta: ListMeta): JsonObject {
  const { revision, continueToken, remaining } = meta
  return {
    resourceVersion: String(revision),
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
  }
}
