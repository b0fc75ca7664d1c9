import { type JsonObject, objectAt, without } from '../../lib/json.ts'
import type { StoredEntry } from '../../storage/store.ts'
import { apiVersionOf, type ServedVersion } from '../resource/resource.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/**
 * Stored form: the object without kind, apiVersion and resourceVersion, its metadata first. An object for a
 * client then consists of a constant head, the revision and a slice of the stored bytes: objects are served
 * without being parsed.
 */
const OPEN = '{"metadata":{'

/** Whether bytes begin like those of a stored object. */
export function isInStoredForm(value: Buffer): boolean {
  return value.subarray(0, OPEN.length).toString('latin1') === OPEN
}

/** Stored bytes of an object. */
export function encodeStored(object: JsonObject): Buffer {
  const metadata = JSON.stringify(without(objectAt(object, 'metadata'), 'resourceVersion'))
  const rest = JSON.stringify(without(object, 'kind', 'apiVersion', 'metadata'))
  const tail = rest === '{}' ? '}' : `,${rest.slice(1)}`
  return Buffer.from(`{"metadata":${metadata}${tail}`)
}

/** The current bytes and revision of an object; revision 0: it was never stored. */
export type Written = Pick<StoredEntry, 'value' | 'modRevision'>

/** The object that an entry holds, with its resourceVersion unless it was never stored (0). */
export function decodeStored(entry: Written): JsonObject {
  const object = JSON.parse(entry.value.toString()) as JsonObject
  const { modRevision } = entry
  if (modRevision > 0) objectAt(object, 'metadata')['resourceVersion'] = String(modRevision)
  return object
}

export interface ObjectType {
  readonly kind: string
  readonly apiVersion: string
}

/** Converts stored objects to the bytes that are sent; at revision 0 without a resourceVersion. */
export interface WireEncoder {
  /** An object by itself, with kind and apiVersion. */
  object(value: Buffer, revision: number): Buffer
  /** An element of a list, which may leave kind and apiVersion to the list. */
  item(value: Buffer, revision: number): Buffer
}

/** Whole objects, as a served version has them. */
export function createWireEncoder(served: ServedVersion): WireEncoder {
  const { fromStored } = served
  const typed = typeHead({ kind: served.resource.kind, apiVersion: apiVersionOf(served) })
  const write = (head: string, value: Buffer, revision: number): Buffer => {
    const body = fromStored === undefined ? value : convert(fromStored, value)
    const front = Buffer.from(`${head}${metadataHead(revision)}`)
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

/** Encodes only the metadata, which are the same in every served version, as objects of the given type. */
export function createPartialEncoder(type: ObjectType): WireEncoder {
  const typed = typeHead(type)
  const write = (value: Buffer, revision: number): Buffer => {
    const front = Buffer.from(`${typed}${metadataHead(revision)}`)
    const end = endOfObject(value, OPEN.length)
    return Buffer.concat([front, value.subarray(OPEN.length, end), OBJECT_END])
  }
  return { object: write, item: write }
}

const OBJECT_END = Buffer.from('}')

function typeHead({ kind, apiVersion }: ObjectType): string {
  return `${JSON.stringify({ kind, apiVersion }).slice(0, -1)},`
}

function metadataHead(revision: number): string {
  return revision === 0 ? '"metadata":{' : `"metadata":{"resourceVersion":"${revision}",`
}

function convert(fromStored: (object: JsonObject) => JsonObject, value: Buffer): Buffer {
  return encodeStored(fromStored(JSON.parse(value.toString()) as JsonObject))
}

/** The offset after the closing brace of the JSON object whose opening brace is just before `from`. */
export function endOfObject(bytes: Buffer, from: number): number {
  let at = from
  for (let depth = 1; depth > 0 && at < bytes.length; ) {
    const byte = bytes[at++]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (byte === OPEN_BRACE) depth++
    else if (byte === CLOSE_BRACE) depth--
  }
  return at
}

function endOfString(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at + 1
}
