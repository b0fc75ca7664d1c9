import type { ApiClient } from '../../client/http/api-client.ts'
import { type ApiFailure, type ApiResult, statusFailure } from '../../client/http/failure.ts'
import { arrayAt, isJsonObject, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import type { CollectionName } from '../cache/collection-route.ts'
import { pathOf } from '../cache/collections.ts'
import type { ObjectMeta } from '../objects/object-meta.ts'
import {
  type Bind,
  completeBody,
  type Deletion,
  type ObjectIdentity,
  type Patch,
  type Write,
} from './write.ts'

/** The verbs of an API client that controllers need to write. */
export type WritingClient = Pick<ApiClient, 'get' | 'create' | 'patch' | 'remove'>

/** Writes objects, and reads single ones to learn why a write was refused. */
export interface ObjectWriter {
  /**
   * Returns the written object, or for a deletion or a binding whatever the server answered.
   */
  write(write: Write): Promise<ApiResult<unknown>>
  read(collection: CollectionName, namespace: string, name: string): Promise<ApiResult<unknown>>
}

/** A writer whose writes apply only to the version of the object that was seen; the server checks it. */
export function createObjectWriter(client: WritingClient): ObjectWriter {
  return {
    read: (collection, namespace, name) => client.get(pathOf(collection, namespace, name)),
    write(write) {
      switch (write.verb) {
        case 'create':
          return client.create(pathOf(write.collection, write.namespace), write.body)
        case 'record':
          return client.create(eventsPath(write.namespace), write.body)
        case 'delete':
          return remove(client, write)
        case 'patch':
          return patch(client, write)
        case 'bind':
          return bind(client, write)
      }
    },
  }
}

async function patch(client: WritingClient, write: Patch): Promise<ApiResult<unknown>> {
  const { collection, meta, subresource } = write
  const failure = await hindrance(client, write)
  if (failure !== undefined) return { ok: false, failure }
  const path = pathOf(collection, meta.namespace, meta.name)
  const body = await completeBody(write)
  if (body === undefined) return { ok: true, value: undefined }
  const versioned = atVersion(body, meta)
  const target = subresource === undefined ? path : `${path}/${subresource}`
  const type = subresource === 'status' ? 'strategic-merge-patch' : 'merge-patch'
  return client.patch(target, versioned, { type: `application/${type}+json` })
}

function bind(
  client: WritingClient,
  { collection, meta, nodeName }: Bind,
): Promise<ApiResult<unknown>> {
  const { name, namespace, uid, version } = meta
  return client.create(`${pathOf(collection, namespace, name)}/binding`, {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name, namespace, uid, resourceVersion: version },
    target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
  })
}

async function remove(client: WritingClient, write: Deletion): Promise<ApiResult<unknown>> {
  const { collection, meta, graceSeconds, propagation } = write
  const failure = await hindrance(client, write)
  if (failure !== undefined) return { ok: false, failure }
  const path = pathOf(collection, meta.namespace, meta.name)
  return client.remove(path, {
    preconditions: preconditionsOf(write),
    ...(graceSeconds !== undefined && { gracePeriodSeconds: graceSeconds }),
    ...(propagation !== undefined && { propagationPolicy: propagation }),
  })
}

/**
 * Why a write must not be made: the caches were behind (409), or the server could not answer. Undefined: it
 * may be made.
 */
async function hindrance(
  client: WritingClient,
  {
    meta,
    absent = [],
    present,
    undeleted,
    emptied,
  }: Pick<Deletion, 'meta' | 'absent' | 'present' | 'emptied'> & Pick<Patch, 'undeleted'>,
): Promise<ApiFailure | undefined> {
  for (const identity of absent) {
    const found = await find(client, identity)
    if (!found.ok) return found.failure
    if (found.value !== undefined) return changed(`${nameOf(identity)} is still there`)
  }
  const needed = present ?? undeleted
  if (needed !== undefined) {
    const found = await find(client, needed)
    if (!found.ok) return found.failure
    if (found.value === undefined) return changed(`${nameOf(needed)} is gone`)
    const isTerminating = stringAt(found.value, 'metadata', 'deletionTimestamp') !== ''
    if (undeleted !== undefined && isTerminating) {
      return changed(`${nameOf(undeleted)} is being deleted`)
    }
  }
  return emptied && contents(client, emptied, meta.namespace)
}

/** The failure if a collection is not empty yet (409), or if the server could not answer. */
async function contents(
  client: WritingClient,
  collection: CollectionName,
  namespace: string,
): Promise<ApiFailure | undefined> {
  const found = await client.get(pathOf(collection, namespace), { query: { limit: '1' } })
  if (!found.ok) return found.failure
  if (isJsonObject(found.value) && arrayAt(found.value, 'items').length === 0) return undefined
  return changed(`there are still ${collection}`)
}

/** The object as the server has it; undefined: the server has none, or one with another uid. */
async function find(
  client: WritingClient,
  { collection, namespace, name, uid }: ObjectIdentity,
): Promise<ApiResult<JsonObject | undefined>> {
  const found = await client.get(pathOf(collection, namespace, name))
  if (!found.ok) return found.failure.code === 404 ? { ok: true, value: undefined } : found
  const object = isJsonObject(found.value) ? found.value : {}
  const isOther = uid !== '' && stringAt(object, 'metadata', 'uid') !== uid
  return { ok: true, value: isOther ? undefined : object }
}

function nameOf({ collection, name }: ObjectIdentity): string {
  return `${collection} ${JSON.stringify(name)}`
}

function changed(message: string): ApiFailure {
  return statusFailure(409, { kind: 'Status', reason: 'Conflict', message })
}

function eventsPath(namespace: string): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`
}

function preconditionsOf({ meta, anyVersion }: Deletion): JsonObject {
  return { uid: meta.uid, ...(anyVersion === true ? {} : { resourceVersion: meta.version }) }
}

/** Adds the version to a patch: the server refuses it (409) for an object at any other version. */
function atVersion(body: JsonObject, { uid, version }: ObjectMeta): JsonObject {
  return { ...body, metadata: { ...objectAt(body, 'metadata'), uid, resourceVersion: version } }
}
