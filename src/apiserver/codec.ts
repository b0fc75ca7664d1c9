import { type JsonObject, objectAt, without } from '../lib/json.ts'
import type { StoredEntry } from '../storage/store.ts'
import { apiVersionOf, type Face } from './resource.ts'

/**
 * Stored form: the object without kind, apiVersion and resourceVersion, its
 * metadata first. What a client reads is then a constant head, the revision
 * and a slice of the stored bytes: no object is parsed to be served.
 */
const OPEN = '{"metadata":{'

/** Stored bytes of an object. */
export function encodeStored(object: JsonObject): Buffer {
  const metadata = JSON.stringify(without(objectAt(object, 'metadata'), 'resourceVersion'))
  const rest = JSON.stringify(without(object, 'kind', 'apiVersion', 'metadata'))
  const tail = rest === '{}' ? '}' : `,${rest.slice(1)}`
  return Buffer.from(`{"metadata":${metadata}${tail}`)
}

/** The object that an entry holds, with its resourceVersion. */
export function decodeStored(entry: Pick<StoredEntry, 'value' | 'modRevision'>): JsonObject {
  const object = JSON.parse(entry.value.toString()) as JsonObject
  objectAt(object, 'metadata')['resourceVersion'] = String(entry.modRevision)
  return object
}

/** How one face writes stored objects as wire bytes. */
export interface WireEncoder {
  /** A whole object with kind and apiVersion. */
  object(value: Buffer, revision: number): Buffer
  /** An element of a list, which leaves kind and apiVersion to the list. */
  item(value: Buffer, revision: number): Buffer
}

export function createWireEncoder(face: Face): WireEncoder {
  const { fromStored } = face
  const kind = JSON.stringify(face.resource.kind)
  const typed = `{"kind":${kind},"apiVersion":${JSON.stringify(apiVersionOf(face))},`
  const write = (head: string, value: Buffer, revision: number): Buffer => {
    const body = fromStored === undefined ? value : convert(fromStored, value)
    const front = Buffer.from(`${head}"metadata":{"resourceVersion":"${revision}",`)
    return Buffer.concat(
      [front, body.subarray(OPEN.length)],
      front.length + body.length - OPEN.length,
    )
  }
  return {
    object: (value, revision) => write(typed, value, revision),
    item: (value, revision) => write('{', value, revision),
  }
}

function convert(fromStored: (object: JsonObject) => JsonObject, value: Buffer): Buffer {
  return encodeStored(fromStored(JSON.parse(value.toString()) as JsonObject))
}
