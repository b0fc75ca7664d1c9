import type { AccountObjects, LiveObject } from '../../auth/authentication/account-authenticator.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { TOKEN_KEY, TOKEN_SECRET_TYPES } from '../../resources/names.ts'
import type { CacheReader } from '../cache/feed.ts'
import type { Item } from '../cache/item.ts'
import { type StoredResource, storageKey } from '../resource/resource.ts'
import { secrets } from './secret.ts'
import { serviceAccounts } from './service-account/resource.ts'
import { BINDABLE } from './shared/escalation.ts'

/** The objects that tokens depend on, read from the caches; each version of an object is decoded once. */
export function storedAccounts({ feed }: CacheReader): AccountObjects {
  const live = readOnce(liveObject)
  const token = readOnce(tokenOf)
  const item = (resource: StoredResource, namespace: string, name: string): Item | undefined =>
    feed.cache(resource).get(storageKey(resource, namespace, name))
  return {
    account: (namespace, name) => live(item(serviceAccounts, namespace, name)),
    bound: (namespace, { kind, name }) => live(item(BINDABLE[kind], namespace, name)),
    tokenInSecret: (namespace, name) => token(item(secrets, namespace, name)),
  }
}

/** Caches the result of reading a version of an object for as long as the object cache has that version. */
function readOnce<T>(read: (object: JsonObject) => T): (item: Item | undefined) => T | undefined {
  const known = new WeakMap<Item, { readonly value: T }>()
  return (item) => {
    if (item === undefined) return undefined
    const found = known.get(item) ?? {
      value: read(JSON.parse(item.value.toString()) as JsonObject),
    }
    known.set(item, found)
    return found.value
  }
}

function liveObject(object: JsonObject): LiveObject {
  const deletedAt = Date.parse(stringAt(object, 'metadata', 'deletionTimestamp'))
  return {
    uid: stringAt(object, 'metadata', 'uid'),
    deletedAt: Number.isNaN(deletedAt) ? undefined : deletedAt,
  }
}

/**
 * The token in a Secret; undefined if the Secret is being deleted: its token is then revoked, even if a
 * finalizer keeps the Secret.
 */
function tokenOf(secret: JsonObject): string | undefined {
  if (stringAt(secret, 'metadata', 'deletionTimestamp') !== '') return undefined
  if (!TOKEN_SECRET_TYPES.includes(stringAt(secret, 'type'))) return undefined
  const token = stringAt(secret, 'data', TOKEN_KEY)
  return token === '' ? undefined : Buffer.from(token, 'base64').toString()
}
