import type { ListMeta } from './list-metadata.ts'

/** Bytes of an object and the revision to show with it; 0: none yet. */
export interface Shown {
  readonly value: Buffer
  readonly revision: number
}

/** One way of writing objects in answers. */
export interface AnswerForm {
  readonly contentType: string
  object(shown: Shown): Buffer
  /** Made while it is sent. */
  list(items: readonly Shown[], meta: ListMeta): Iterable<Buffer>
}

/** A form that watches have, too: whole objects, their metadata, or the rows of a table. */
export interface Representation extends AnswerForm {
  /** Distinguishes memoised frames: the same id means the same bytes. */
  readonly id: string
  /** The object of a watch event; the first of a watch may say more. */
  event(shown: Shown, first: boolean): Buffer
  /** Whether the first event of a watch differs from later ones. */
  readonly firstDiffers: boolean
}
