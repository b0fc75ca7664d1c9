import { ownBuffer } from '../lib/own-buffer.ts'
import { type ApiRequest, jsonReply, type Reply } from './api-request.ts'
import type { EventType } from './cache/change.ts'
import { createWireEncoder, type WireEncoder } from './codec.ts'
import { parseAccept } from './http/media-type.ts'
import { type ListMeta, listMetadata } from './list-metadata.ts'
import type { Written } from './persist.ts'
import { notAcceptable } from './refusals.ts'
import { apiVersionOf, type Face } from './resource.ts'
import type { Serving } from './serving.ts'
import { Refusal } from './status.ts'
import { tableRepresentation } from './table/table-representation.ts'

/** Bytes of an object and the revision to show with it. */
export interface Shown {
  readonly value: Buffer
  readonly revision: number
}

/** One way of writing objects: plain, or as the rows of a table. */
export interface Representation {
  /** Distinguishes memoised frames: the same id means the same bytes. */
  readonly id: string
  object(shown: Shown): Buffer
  list(items: readonly Shown[], meta: ListMeta): Iterable<Buffer>
  /** The object of a watch event; the first of a watch may say more. */
  event(shown: Shown, first: boolean): Buffer
  /** Whether the first event of a watch differs from the others. */
  readonly firstDiffers: boolean
}

/** Bytes per buffer of a long list, more or less. */
const CHUNK_BYTES = 128 << 10

const COMMA = Buffer.from(',')
const LIST_END = Buffer.from(']}\n')

/** The representation that the client prefers among those that there are. */
export function negotiate(serving: Serving, request: ApiRequest): Representation | Refusal {
  const { face, accept, query } = request
  for (const { type, parameters } of parseAccept(accept)) {
    if (!['application/json', 'application/*', '*/*'].includes(type)) continue
    const as = parameters.get('as')
    if (as === undefined) return plain(face)
    const version = parameters.get('v') ?? ''
    if (as !== 'Table' || parameters.get('g') !== 'meta.k8s.io') continue
    if (version !== 'v1' && version !== 'v1beta1') continue
    const include = query.get('includeObject') ?? 'Metadata'
    return tableRepresentation({ face, version, include, clock: serving.clock })
  }
  return notAcceptable(['application/json'])
}

/** One object as an answer. */
export function objectReply(
  serving: Serving,
  request: ApiRequest,
  code: number,
  written: Written,
): Reply | Refusal {
  const representation = negotiate(serving, request)
  if (representation instanceof Refusal) return representation
  const shown = { value: written.value, revision: written.modRevision }
  return jsonReply(code, representation.object(shown))
}

function plain(face: Face): Representation {
  const wire = createWireEncoder(face)
  const object = ({ value, revision }: Shown): Buffer => wire.object(value, revision)
  return {
    id: apiVersionOf(face),
    object,
    list: (items, meta) => writeList(face, wire, items, meta),
    event: object,
    firstDiffers: false,
  }
}

/** A list, made while it is sent: a client that does not read costs one chunk. */
function* writeList(
  face: Face,
  wire: WireEncoder,
  items: readonly Shown[],
  meta: ListMeta,
): Generator<Buffer> {
  const kind = JSON.stringify(`${face.resource.kind}List`)
  const version = JSON.stringify(apiVersionOf(face))
  const metadata = JSON.stringify(listMetadata(meta))
  yield Buffer.from(`{"kind":${kind},"apiVersion":${version},"metadata":${metadata},"items":[`)
  let parts: Buffer[] = []
  let bytes = 0
  for (const [index, { value, revision }] of items.entries()) {
    if (index > 0) parts.push(COMMA)
    const item = wire.item(value, revision)
    parts.push(item)
    bytes += item.length
    if (bytes < CHUNK_BYTES) continue
    yield Buffer.concat(parts)
    parts = []
    bytes = 0
  }
  yield Buffer.concat([...parts, LIST_END])
}

/** One line of a watch; a recent change keeps those of its events. */
export function eventFrame(type: EventType | 'BOOKMARK' | 'ERROR', object: Buffer): Buffer {
  return ownBuffer(Buffer.from(`{"type":"${type}","object":`), object, LINE_END)
}

const LINE_END = Buffer.from('}\n')
