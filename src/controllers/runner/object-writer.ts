import type { ApiClient } from '../../client/api-client.ts'
import type { ApiResult } from '../../client/failure.ts'
import type { JsonObject } from '../../lib/json.ts'
import { objectAt } from '../../lib/json.ts'
import type { CollectionName } from '../objects/collections.ts'
import { pathOf } from '../objects/collections.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'
import type { Write } from './write.ts'

/** The verbs of an API client that controllers need to write. */
export type WritingClient = Pick<ApiClient, 'get' | 'create' | 'patch' | 'remove'>

/** Writes objects, and reads single ones to learn why a write was refused. */
export interface ObjectWriter {
  /** The object as it is now; of a deletion, whatever the server answered. */
  write(write: Write): Promise<ApiResult<unknown>>
  read(collection: CollectionName, namespace: string, name: string): Promise<ApiResult<unknown>>
}

/** Each write holds only for the object as it was seen; the server compares. */
export function createObjectWriter(client: WritingClient): ObjectWriter {
  return {
    read: (collection, namespace, name) => client.get(pathOf(collection, namespace, name)),
    write(write) {
      const { collection } = write
      if (write.verb === 'create') {
        return client.create(pathOf(collection, write.namespace), write.body)
      }
      const path = pathOf(collection, write.meta.namespace, write.meta.name)
      if (write.verb === 'delete') {
        return client.remove(path, { preconditions: preconditionsOf(write.meta) })
      }
      return client.patch(path, atVersion(write.body, write.meta), {
        type: 'application/merge-patch+json',
      })
    },
  }
}

function preconditionsOf({ uid, version }: ObjectMeta): JsonObject {
  return { uid, resourceVersion: version }
}

/** A patch that names the version it was made for is refused (409) at any other. */
function atVersion(patch: JsonObject, { uid, version }: ObjectMeta): JsonObject {
  return { ...patch, metadata: { ...objectAt(patch, 'metadata'), uid, resourceVersion: version } }
}
