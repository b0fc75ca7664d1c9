import { isUtf8 } from 'node:buffer'
import { NodeProxyError } from '../../lib/error.ts'
import { isJsonObject, type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { StoredEntry } from '../../storage/store.ts'
import { isInStoredForm } from '../encoding/codec.ts'
import type { Fields } from '../request/field-selector.ts'
import type { Labels } from '../request/label-selector.ts'
import type { Resource } from '../resource/resource.ts'

/** One object as lists and watches use it: its bytes, and the labels and fields for selectors. */
export interface Item {
  readonly key: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly revision: number
  readonly value: Buffer
  readonly labels: Labels
  readonly fields: Fields
}

const NO_LABELS: Labels = {}

/** A stored object that is not served, because its content may not be what a client wrote. */
export interface UnreadableObject {
  readonly key: string
  readonly revision: number
  readonly cause: string
  readonly error: NodeProxyError
}

/** A stored object as an item, or why it cannot be read. */
export function readItem(resource: Resource, entry: StoredEntry): Item | UnreadableObject {
  const object = decodeEntry(resource, entry)
  if (typeof object === 'string') return unreadable(entry, object)
  try {
    return itemOf(resource, entry, object)
  } catch (error) {
    return unreadable(entry, `its fields are of the wrong types: ${String(error)}`)
  }
}

/** Whether `readItem` returned an object that the server can serve. */
export function isReadable(one: Item | UnreadableObject): one is Item {
  return !('error' in one)
}

/** The reverse of `isReadable`. */
export function isUnreadable(one: Item | UnreadableObject): one is UnreadableObject {
  return !isReadable(one)
}

/**
 * The object of an entry, or why it cannot be read. Its bytes must have the form that `codec.ts` writes,
 * because clients are sent slices of these bytes.
 */
function decodeEntry(
  resource: Resource,
  { key, value, damaged, undecryptable }: StoredEntry,
): JsonObject | string {
  if (undecryptable !== undefined) return undecryptable
  if (damaged === true) return 'its value is not the one that was written'
  if (!isUtf8(value)) return 'it is not UTF-8'
  const object = parsed(value)
  if (!isJsonObject(object)) return 'it is not a JSON object'
  if (!isInStoredForm(value)) return 'it is not in the form of this server'
  const { namespace, name } = identityOf(resource, key)
  const isNamed = stringAt(object, 'metadata', 'name') === name
  const isPlaced = stringAt(object, 'metadata', 'namespace') === namespace
  return isNamed && isPlaced ? object : 'its namespace and name are not those of its key'
}

function itemOf(
  resource: Resource,
  { key, value, modRevision }: StoredEntry,
  object: JsonObject,
): Item {
  const { namespace, name } = identityOf(resource, key)
  return {
    key,
    namespace,
    revision: modRevision,
    value,
    labels: labelsOf(object),
    fields: {
      'metadata.name': name,
      'metadata.namespace': namespace,
      ...resource.fields?.(object),
    },
  }
}

function identityOf(resource: Resource, key: string) {
  const path = key.slice(1).split('/')
  return { namespace: resource.namespaced ? path[1]! : '', name: path.at(-1)! }
}

function parsed(value: Buffer): Json | undefined {
  try {
    return JSON.parse(value.toString()) as Json
  } catch {
    return undefined
  }
}

function unreadable({ key, modRevision }: StoredEntry, cause: string): UnreadableObject {
  const message = `the stored object at ${quote(key)} (revision ${modRevision}) cannot be read: ${cause}`
  const error = new NodeProxyError('NP_APISERVER_STORED_OBJECT', message, {
    object: key,
    hint: 'delete the object, which discards it, or restore a backup; if another program uses the same keys of etcd, give this server its own with --etcd-prefix',
  })
  return { key, revision: modRevision, cause, error }
}

function labelsOf(object: JsonObject): Labels {
  const labels = objectAt(object, 'metadata', 'labels')
  return Object.keys(labels).length === 0 ? NO_LABELS : stringsOf(labels)
}

function stringsOf(value: Json): Labels {
  if (!isJsonObject(value)) return NO_LABELS
  const pairs = Object.entries(value).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  )
  return Object.fromEntries(pairs)
}

/** One change of one object, with the serialized watch events that were made of it so far. */
export interface Change {
  readonly revision: number
  /** Undefined: created. */
  readonly before: Item | undefined
  /** Undefined: deleted. */
  readonly after: Item | undefined
  /** Serialized events by representation and type; each is made once for all watchers. */
  readonly frames: Map<string, Buffer>
}

/** The type of a watch event. */
export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** The type of the event for a watcher that sees the matching items; undefined: no event. */
export function eventTypeFor(
  change: Change,
  matches: (item: Item) => boolean,
): EventType | undefined {
  const before = change.before !== undefined && matches(change.before)
  const after = change.after !== undefined && matches(change.after)
  if (after) return before ? 'MODIFIED' : 'ADDED'
  return before ? 'DELETED' : undefined
}

/** The item that an event shows: the last matching state when it is a deletion. */
export function shownItem(change: Change, type: EventType): Item {
  return type === 'DELETED' ? change.before! : change.after!
}
