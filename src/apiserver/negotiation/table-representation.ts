import type { Clock } from '../../lib/clock.ts'
import { type JsonObject, objectAt } from '../../lib/json.ts'
import { decodeStored } from '../encoding/codec.ts'
import { JSON_TYPE } from '../encoding/media-type.ts'
import type { Column } from '../resource/column.ts'
import { apiVersionOf, type ServedVersion } from '../resource/resource.ts'
import { badRequest, invalidText, type StatusError } from '../status/status.ts'
import { listMetadata, type Representation, type Shown } from './answer-form.ts'

/** What each row contains of its object. */
export type Included = (typeof INCLUDED)[number]

const INCLUDED = ['Metadata', 'Object', 'None'] as const

export interface TableOptions {
  readonly served: ServedVersion
  /** Version of meta.k8s.io. */
  readonly version: string
  readonly include: Included
  readonly clock: Clock
}

/** Objects as the rows of a meta.k8s.io Table, which clients print as it is. */
export function tableRepresentation(options: TableOptions): Representation {
  const { served, version, include } = options
  const { columns } = served.resource
  const head = (metadata: JsonObject, withColumns: boolean): string => {
    const columnDefinitions = withColumns ? columns.map(definition) : null
    const type = { kind: 'Table', apiVersion: `meta.k8s.io/${version}` }
    return `${JSON.stringify({ ...type, metadata, columnDefinitions }).slice(0, -1)},"rows":[`
  }
  const rowText = (shown: Shown): string => JSON.stringify(row(options, shown))
  const one = (shown: Shown, withColumns: boolean): Buffer => {
    const metadata = shown.revision === 0 ? {} : { resourceVersion: String(shown.revision) }
    return Buffer.from(`${head(metadata, withColumns)}${rowText(shown)}]}`)
  }
  return {
    contentType: JSON_TYPE,
    id: `table/${version}/${include}/${apiVersionOf(served)}`,
    object: (shown) => one(shown, true),
    list: (items, meta) => writeRows(head(listMetadata(meta), true), items, rowText),
    event: one,
    firstDiffers: true,
  }
}

/** The value of `includeObject` in a query. */
export function parseIncluded(query: URLSearchParams): Included | StatusError {
  const text = query.get('includeObject') || 'Metadata'
  const known = INCLUDED.find((one) => one === text)
  if (known !== undefined) return known
  const wrong = invalidText(text, "must be 'Metadata', 'Object', 'None', or empty")
  return badRequest(`Unable to convert to Table as requested: includeObject: ${wrong}`)
}

/** Rows per buffer of a long table; they take one or two milliseconds. */
const CHUNK_ROWS = 100

/** Rows are generated while they are sent, so that a long table does not block other requests. */
function* writeRows(
  head: string,
  items: readonly Shown[],
  rowText: (shown: Shown) => string,
): Generator<Buffer> {
  yield Buffer.from(head)
  for (let at = 0; at < items.length; at += CHUNK_ROWS) {
    const rows = items
      .slice(at, at + CHUNK_ROWS)
      .map(rowText)
      .join()
    yield Buffer.from(at === 0 ? rows : `,${rows}`)
  }
  yield Buffer.from(']}\n')
}

function definition(column: Column): JsonObject {
  const { name, type, format, description, priority } = column
  return { name, type, format, description, priority }
}

function row(options: TableOptions, shown: Shown): JsonObject {
  const { served, include, clock } = options
  const stored = decodeStored({ value: shown.value, modRevision: shown.revision })
  const object = served.fromStored?.(stored) ?? stored
  const now = clock.now()
  const cells = served.resource.columns.map((column) => column.cell(object, now))
  return { cells, ...included(options, object, include) }
}

function included(options: TableOptions, object: JsonObject, include: Included): JsonObject {
  const { served, version } = options
  if (include === 'None') return {}
  if (include === 'Object') {
    return { object: { kind: served.resource.kind, apiVersion: apiVersionOf(served), ...object } }
  }
  const kind = { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}` }
  return { object: { ...kind, metadata: objectAt(object, 'metadata') } }
}
