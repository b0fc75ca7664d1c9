import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseAllDocuments,
  visit,
} from 'yaml'
import { NodeProxyError } from '../../lib/error.ts'
import { arrayAt, isJsonObject, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { fieldKeys } from './field-keys.ts'
import { type Manifest, type Position, positionText } from './manifest.ts'

/** The text of a file, or of the standard input. */
export interface Source {
  /** For messages. */
  readonly file: string
  readonly text: string
}

const MAX_ALIASES = 1_000
const ADVICE: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'the field stands here for the second time; remove one',
  TAB_AS_INDENT: 'tabs cannot indent YAML; use spaces',
}

/**
 * The objects of a YAML (1.2) or JSON text: of all its documents, and of lists their items. As for kubectl, a plain
 * number with a leading zero is octal.
 * @throws NP_ORCHCTL_MANIFEST with file, line and column
 */
export function parseManifests({ file, text }: Source): readonly Manifest[] {
  const lines = new LineCounter()
  const place = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const documents = parseAllDocuments(text, {
    ...{ lineCounter: lines, prettyErrors: false, merge: true, logLevel: 'silent' },
  })
  if (!Array.isArray(documents)) return []
  return documents.flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) {
      throw manifestError(place(error.pos[0]), ADVICE[error.code] ?? `not YAML: ${error.message}`)
    }
    const locate = (keys: readonly (string | number)[]): Position => {
      return place(offsetOf(document, keys))
    }
    return isEmpty(document) ? [] : manifestsOf(valueOf(document, locate), locate)
  })
}

/** An error of a manifest. */
export function manifestError(position: Position, message: string): NodeProxyError {
  return new NodeProxyError('NP_ORCHCTL_MANIFEST', `${positionText(position)}: ${message}`)
}

type Locate = (keys: readonly (string | number)[]) => Position

function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.value === null)
}

function valueOf(document: Document, locate: Locate): JsonObject {
  visit(document, {
    Scalar(_, node) {
      const { source = '', type } = node
      if (type === 'PLAIN' && /^[-+]?0[0-7]+$/.test(source)) node.value = Number.parseInt(source, 8)
    },
  })
  try {
    const value = document.toJS({ maxAliasCount: MAX_ALIASES }) as Json
    if (isJsonObject(value)) return value
  } catch {
    throw manifestError(locate([]), 'too many aliases, or an alias without its anchor')
  }
  throw manifestError(locate([]), 'an object is missing: write apiVersion, kind and metadata')
}

function manifestsOf(object: JsonObject, locate: Locate): readonly Manifest[] {
  if (stringAt(object, 'kind') === 'List' && Array.isArray(object['items'])) {
    return arrayAt(object, 'items').flatMap((item, index) => {
      const inItem: Locate = (keys) => locate(['items', index, ...keys])
      if (!isJsonObject(item)) throw manifestError(inItem([]), 'an item of a List is an object')
      return manifestsOf(item, inItem)
    })
  }
  for (const field of ['apiVersion', 'kind']) {
    if (stringAt(object, field) === '') {
      throw manifestError(locate([]), `${field} is missing; write for example ${EXAMPLES[field]}`)
    }
  }
  return [{ object, position: (field) => locate(fieldKeys(field)) }]
}

const EXAMPLES: Readonly<Record<string, string>> = {
  apiVersion: 'apiVersion: v1',
  kind: 'kind: Service',
}

/** The offset of the key that leads to the deepest of these keys which exists. */
function offsetOf(document: Document, keys: readonly (string | number)[]): number {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : (document.range?.[0] ?? 0)
  for (const key of keys) {
    if (!isCollection(node)) return offset
    const pair = isMap(node)
      ? node.items.find((one) => keyText(one.key) === String(key))
      : undefined
    const next: unknown = pair === undefined ? node.get(key, true) : pair.value
    if (pair === undefined && next === undefined) return offset
    const start = isNode(pair?.key) ? pair.key : next
    offset = isNode(start) ? (start.range?.[0] ?? offset) : offset
    node = next
  }
  return offset
}

function keyText(key: unknown): string {
  return isScalar(key) ? String(key.value) : ''
}
