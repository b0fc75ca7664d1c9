import { ownBuffer } from '../lib/own-buffer.ts'
import { type ApiRequest, jsonReply, type Reply } from './api-request.ts'
import type { EventType } from './cache/change.ts'
import {
  PARTIAL_OBJECT,
  partialRepresentation,
  plainRepresentation,
} from './document-representation.ts'
import { parseAccept } from './http/media-type.ts'
import type { ListMeta } from './list-metadata.ts'
import type { Written } from './persist.ts'
import { notAcceptable } from './refusals.ts'
import type { Serving } from './serving.ts'
import { Refusal } from './status.ts'
import { tableRepresentation } from './table/table-representation.ts'

/** Bytes of an object and the revision to show with it; 0: none yet. */
export interface Shown {
  readonly value: Buffer
  readonly revision: number
}

/** One way of writing objects: whole, by their metadata, or as the rows of a table. */
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

const JSON_TYPES: readonly string[] = ['application/json', 'application/*', '*/*']

/** What the answer holds: it decides which partial form there is. */
type Shape = 'object' | 'list'

/** The representation that the client prefers among those that there are. */
export function negotiate(
  serving: Serving,
  request: ApiRequest,
  shape: Shape,
): Representation | Refusal {
  for (const { type, parameters } of parseAccept(request.accept)) {
    if (!JSON_TYPES.includes(type)) continue
    if (!parameters.has('as')) return plainRepresentation(request.face)
    const found = transformed(serving, request, { parameters, shape })
    if (found !== undefined) return found
  }
  return notAcceptable(['application/json'])
}

interface Transform {
  /** Of the media type: into what (`as`), of which group (`g`) and version (`v`). */
  readonly parameters: ReadonlyMap<string, string>
  readonly shape: Shape
}

/** Objects as another kind; undefined when there is no such form. */
function transformed(
  { clock }: Serving,
  { face, query }: ApiRequest,
  { parameters, shape }: Transform,
): Representation | undefined {
  const version = parameters.get('v') ?? ''
  if (parameters.get('g') !== 'meta.k8s.io') return undefined
  if (version !== 'v1' && version !== 'v1beta1') return undefined
  const partial = shape === 'list' ? `${PARTIAL_OBJECT}List` : PARTIAL_OBJECT
  const as = parameters.get('as')
  if (as === partial) return partialRepresentation(version)
  if (as !== 'Table') return undefined
  const include = query.get('includeObject') ?? 'Metadata'
  return tableRepresentation({ face, version, include, clock })
}

/** One object as an answer. */
export function objectReply(
  serving: Serving,
  request: ApiRequest,
  code: number,
  written: Written,
): Reply | Refusal {
  const representation = negotiate(serving, request, 'object')
  if (representation instanceof Refusal) return representation
  const shown = { value: written.value, revision: written.modRevision }
  return jsonReply(code, representation.object(shown))
}

/** One line of a watch; a recent change keeps those of its events. */
export function eventFrame(type: EventType | 'BOOKMARK' | 'ERROR', object: Buffer): Buffer {
  return ownBuffer(Buffer.from(`{"type":"${type}","object":`), object, LINE_END)
}

const LINE_END = Buffer.from('}\n')
