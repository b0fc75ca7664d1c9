import type { JsonObject } from '../../lib/json.ts'

/** What a list says about itself. */
export interface ListMeta {
  readonly revision: number
  /** Where the next page starts; absent on the last one. */
  readonly continueToken?: string
  /** Items on later pages; absent when a selector makes it unknown. */
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
