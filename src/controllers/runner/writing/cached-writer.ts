import type { ApiFailure } from '../../../client/http/failure/failure.ts'
import { arrayAt, isJsonObject, stringAt, valueAt } from '../../../lib/json.ts'
import type { CollectionName } from '../../cache/collections.ts'
import type { ObjectWriter } from './object-writer.ts'
import type { Write } from './write.ts'

/** The cache of one collection, as a writer updates it. */
export interface LearningCache {
  learned(raw: unknown): void
  readonly cache: { removed(key: string, uid: string): unknown }
}

/**
 * Whether the answer to a deletion shows that the object is only marked for deletion. For a removed object the
 * server answers a Status or the last state, which for a Pod has a deletionTimestamp, too.
 */
function isKept(answer: unknown): boolean {
  if (!isJsonObject(answer) || stringAt(answer, 'metadata', 'deletionTimestamp') === '') {
    return false
  }
  const isHeld = arrayAt(answer, 'metadata', 'finalizers').length > 0
  const grace = valueAt(answer, 'metadata', 'deletionGracePeriodSeconds') ?? 0
  return stringAt(answer, 'kind') !== 'Pod' || isHeld || grace !== 0
}

/** Makes a write; resolves to the failure, undefined on success. */
export type CachedWrite = (write: Write) => Promise<ApiFailure | undefined>

/**
 * Makes writes, and updates the caches with their results at once. After a conflict (another client wrote first,
 * or the caches are behind) it reads the object, so that the next attempt starts from the present one. The
 * deletion of an absent object is a success.
 */
export function createCachedWriter(
  writer: ObjectWriter,
  cacheOf: (collection: CollectionName) => LearningCache,
): CachedWrite {
  function removed(write: Write): void {
    if (write.verb === 'create' || write.verb === 'record') return
    cacheOf(write.collection).cache.removed(write.meta.key, write.meta.uid)
  }

  async function reread(write: Write): Promise<void> {
    if (write.verb === 'record') return
    const { namespace, name } = write.verb === 'create' ? write : write.meta
    if (name === '') return
    const result = await writer.read(write.collection, namespace, name)
    if (result.ok) cacheOf(write.collection).learned(result.value)
    else if (result.failure.code === 404) removed(write)
  }

  return async (write) => {
    const result = await writer.write(write)
    if (result.ok) {
      if (write.verb === 'delete' && !isKept(result.value)) removed(write)
      else if (write.verb !== 'record') cacheOf(write.collection).learned(result.value)
      return undefined
    }
    const { code } = result.failure
    if (code === 404) removed(write)
    if (code === 409) await reread(write)
    return code === 404 && write.verb === 'delete' ? undefined : result.failure
  }
}
