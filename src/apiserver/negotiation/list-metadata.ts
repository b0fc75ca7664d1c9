import type { JsonObject } from '../../lib/json.ts'

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
