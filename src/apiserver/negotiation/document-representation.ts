import type { JsonObject } from '../../lib/json.ts'
import {
  createPartialEncoder,
  createWireEncoder,
  type ObjectType,
  type WireEncoder,
} from '../encoding/codec.ts'
import { JSON_TYPE } from '../encoding/media-type.ts'
import { apiVersionOf, type ServedVersion } from '../resource/resource.ts'
import { listMetadata, type Representation, type Shown } from './answer-form.ts'

export const PARTIAL_OBJECT = 'PartialObjectMetadata'

/** Whole objects. */
export function plainRepresentation(served: ServedVersion): Representation {
  const type = { kind: served.resource.kind, apiVersion: apiVersionOf(served) }
  return documents(type.apiVersion, type, createWireEncoder(served))
}

/** Only the metadata of objects, in a version of meta.k8s.io; garbage collectors read no more. */
export function partialRepresentation(version: string): Representation {
  const type = { kind: PARTIAL_OBJECT, apiVersion: `meta.k8s.io/${version}` }
  return documents(`partial/${version}`, type, createPartialEncoder(type))
}

/** One document for each object, and lists of their kind. */
function documents(id: string, type: ObjectType, wire: WireEncoder): Representation {
  const object = ({ value, revision }: Shown): Buffer => wire.object(value, revision)
  const item = ({ value, revision }: Shown): Buffer => wire.item(value, revision)
  const list = { kind: `${type.kind}List`, apiVersion: type.apiVersion }
  return {
    id,
    object,
    contentType: JSON_TYPE,
    list: (items, meta) => writeList({ ...list, metadata: listMetadata(meta) }, items, item),
    event: object,
    firstDiffers: false,
  }
}

/** The approximate number of bytes of each buffer of a long list. */
const CHUNK_BYTES = 128 << 10

const COMMA = Buffer.from(',')
const LIST_END = Buffer.from(']}\n')

/** A list that is generated while it is sent, so that a client that does not read costs the memory of one chunk. */
function* writeList(
  head: JsonObject,
  items: readonly Shown[],
  encode: Representation['object'],
): Generator<Buffer> {
  yield Buffer.from(`${JSON.stringify(head).slice(0, -1)},"items":[`)
  let parts: Buffer[] = []
  let bytes = 0
  for (const [index, one] of items.entries()) {
    if (index > 0) parts.push(COMMA)
    const item = encode(one)
    parts.push(item)
    bytes += item.length
    if (bytes < CHUNK_BYTES) continue
    yield Buffer.concat(parts)
    parts = []
    bytes = 0
  }
  yield Buffer.concat([...parts, LIST_END])
}
