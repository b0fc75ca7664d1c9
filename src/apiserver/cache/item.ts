import { isJsonObject, type Json, type JsonObject, objectAt } from '../../lib/json.ts'
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

export function itemOf(resource: Resource, entry: StoredEntry): Item {
  const object = JSON.parse(entry.value.toString()) as JsonObject
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
