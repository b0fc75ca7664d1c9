import { NodeProxyError } from '../../lib/error.ts'
import { isJsonObject, type Json, type JsonObject, objectAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { StoredEntry } from '../../storage/store.ts'
import type { Resource } from '../resource.ts'
import type { Fields } from '../selector/field-selector.ts'
import type { Labels } from '../selector/label-selector.ts'

/** One object as lists and watches see it: its bytes, and what it can be selected by. */
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

/** A stored object as an item, or why it is none. */
export function readItem(resource: Resource, entry: StoredEntry): Item | NodeProxyError {
  const object = parsed(entry.value)
  if (!isJsonObject(object)) return unreadable(entry.key)
  const path = entry.key.slice(1).split('/')
  const namespace = resource.namespaced ? path[1]! : ''
  const name = path.at(-1)!
  return {
    key: entry.key,
    namespace,
    revision: entry.modRevision,
    value: entry.value,
    labels: labelsOf(object),
    fields: {
      'metadata.name': name,
      'metadata.namespace': namespace,
      ...resource.fields(object),
    },
  }
}

/** All of them, or why the first is none that is none. */
export function readItems(
  resource: Resource,
  entries: readonly StoredEntry[],
): readonly Item[] | NodeProxyError {
  const items: Item[] = []
  for (const entry of entries) {
    const item = readItem(resource, entry)
    if (item instanceof NodeProxyError) return item
    items.push(item)
  }
  return items
}

function parsed(value: Buffer): Json | undefined {
  try {
    return JSON.parse(value.toString()) as Json
  } catch {
    return undefined
  }
}

function unreadable(key: string): NodeProxyError {
  const message = `the store holds something else than an object at ${quote(key)}`
  return new NodeProxyError('NP_APISERVER_STORED_OBJECT', message, {
    object: key,
    hint: 'if another program uses the same keys of etcd, give this server its own with --etcd-prefix; if not, look at the key, and delete it or restore a backup',
  })
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
