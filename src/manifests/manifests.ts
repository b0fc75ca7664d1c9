import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type Document, isCollection, isMap, isNode, isScalar, visit } from 'yaml'
import { NodeProxyError, systemCode } from '../lib/error.ts'
import { arrayAt, isJsonObject, type Json, type JsonObject, stringAt } from '../lib/json.ts'
import { quote, unquoted } from '../lib/quote.ts'
import {
  ALIAS_WITHOUT_ANCHOR,
  aliasTargets,
  type Position,
  parseYamlStream,
  positionText,
  type Source,
} from '../lib/yaml.ts'
import { resolveScalars, UNRESOLVED } from './yaml-scalars.ts'

/** One object of a manifest, and the places of its fields. */
export interface Manifest {
  readonly object: JsonObject
  /** The place of a field (`spec.ports[0].port`), or of the nearest field around it; empty: of the object. */
  position(field: string): Position
}

export interface FileFlags {
  /** `-f`: files, folders, `-` for the standard input. */
  readonly filename?: readonly string[]
  /** Whether subfolders are read, too. */
  readonly recursive?: boolean
}

type Stdin = AsyncIterable<Uint8Array | string>

const SIZE_LIMIT = 64 * 1024 * 1024
const MAX_DEPTH = 20
const MAX_ALIASES = 1_000
const ENDINGS = /\.(?:ya?ml|json)$/i
const EXAMPLES: Readonly<Record<string, string>> = {
  apiVersion: 'apiVersion: v1',
  kind: 'kind: Service',
}

/** The objects of the files, in their order. @throws NP_MANIFESTS_INVALID, NP_MANIFESTS_USAGE */
export async function readManifests(
  { filename = [], recursive = false }: FileFlags,
  stdin: Stdin = process.stdin,
): Promise<readonly Manifest[]> {
  const manifests: Manifest[] = []
  for (const name of filename) {
    for (const source of await sourcesOf(name, recursive, stdin)) {
      manifests.push(...parseManifests(source))
    }
  }
  if (manifests.length === 0 && filename.length > 0) {
    throw new NodeProxyError('NP_MANIFESTS_INVALID', `${filename.join(', ')}: there is no object`)
  }
  return manifests
}

/**
 * The objects of a YAML or JSON text: of all its documents, and of lists (of any kind) their items. Scalars are read as
 * kubectl reads them.
 * @throws NP_MANIFESTS_INVALID with file, line and column
 */
export function parseManifests(source: Source): readonly Manifest[] {
  const stream = parseYamlStream(source, UNRESOLVED)
  if (!stream.ok) throw manifestError(stream.faults[0].at, stream.faults[0].message)
  return stream.parsed.flatMap((document) => {
    resolveScalars(document)
    if (isEmpty(document)) return []
    refuseUnreadable(document, stream.place)
    const locate: Locate = (keys) => stream.place(offsetOf(document, keys))
    return manifestsOf(valueOf(document, locate), locate)
  })
}

export function manifestError(position: Position, message: string): NodeProxyError {
  return new NodeProxyError('NP_MANIFESTS_INVALID', `${positionText(position)}: ${message}`)
}

/** The keys of a field as errors of the API name it: `spec.ports[0].name`, `metadata.annotations[a.b/c]`. */
function fieldKeys(field: string): readonly (string | number)[] {
  const keys: (string | number)[] = []
  for (const [, name, inside] of field.matchAll(/([^.[\]]+)|\[([^\]]*)\]/gu)) {
    if (name !== undefined) keys.push(name)
    else keys.push(/^\d+$/.test(inside ?? '') ? Number(inside) : unquoted(inside ?? ''))
  }
  return keys
}

type Locate = (keys: readonly (string | number)[]) => Position

function isEmpty({ contents }: Document): boolean {
  return contents === null || (isScalar(contents) && contents.value === null)
}

/** @throws NP_MANIFESTS_INVALID for what JSON has no value for */
function refuseUnreadable(document: Document, place: (offset: number) => Position): void {
  for (const [alias, target] of aliasTargets(document)) {
    if (target === undefined)
      throw manifestError(place(alias.range?.[0] ?? 0), ALIAS_WITHOUT_ANCHOR)
  }
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== 'number' || Number.isFinite(node.value)) return
      throw manifestError(
        place(node.range?.[0] ?? 0),
        `${node.value}, which no field of the API can hold`,
      )
    },
  })
}

function valueOf(document: Document, locate: Locate): JsonObject {
  let value: Json
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES }) as Json
  } catch {
    throw manifestError(locate([]), 'too many aliases')
  }
  if (isJsonObject(value)) return value
  throw manifestError(locate([]), 'an object is missing: write apiVersion, kind and metadata')
}

/**
 * The object itself, or the items of a list. Items have the version and kind of the list unless they name their
 * own.
 */
function manifestsOf(object: JsonObject, locate: Locate): readonly Manifest[] {
  const kind = stringAt(object, 'kind')
  if (kind.endsWith('List') && Array.isArray(object['items'])) {
    const inherited =
      kind === 'List'
        ? {}
        : { apiVersion: stringAt(object, 'apiVersion'), kind: kind.slice(0, -'List'.length) }
    return arrayAt(object, 'items').flatMap((item, index) => {
      const inItem: Locate = (keys) => locate(['items', index, ...keys])
      if (!isJsonObject(item)) throw manifestError(inItem([]), `an item of a ${kind} is an object`)
      return manifestsOf({ ...inherited, ...item }, inItem)
    })
  }
  for (const field of ['apiVersion', 'kind']) {
    if (stringAt(object, field) === '') {
      throw manifestError(locate([]), `${field} is missing; write for example ${EXAMPLES[field]}`)
    }
  }
  return [{ object, position: (field) => locate(fieldKeys(field)) }]
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

async function sourcesOf(
  name: string,
  recursive: boolean,
  stdin: Stdin,
): Promise<readonly Source[]> {
  if (name === '-') return [{ file: 'standard input', text: await streamText(stdin) }]
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name)) {
    throw usageError(`-f ${quote(name)} is a URL, which is never fetched`, {
      hint: 'download it, read it, and apply the file',
    })
  }
  const files = await filesIn(name, recursive, 0)
  return Promise.all(files.map(async (file) => ({ file, text: await fileText(file) })))
}

/** The file itself, or the manifests of a folder in the order of their names. */
async function filesIn(
  path: string,
  recursive: boolean,
  depth: number,
): Promise<readonly string[]> {
  const found = await stat(path).catch((error: unknown) => unreadable(path, error))
  if (!found.isDirectory()) return [path]
  if (depth > MAX_DEPTH) throw usageError(`${quote(path)} is nested too deeply`)
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) =>
    unreadable(path, error),
  )
  const files: string[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const inner = join(path, entry.name)
    if (entry.isDirectory()) {
      if (recursive) files.push(...(await filesIn(inner, recursive, depth + 1)))
    } else if (ENDINGS.test(entry.name)) files.push(inner)
  }
  return files
}

async function fileText(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => unreadable(path, error))
  return limited(bytes, path)
}

async function streamText(stdin: Stdin): Promise<string> {
  const parts: Buffer[] = []
  let size = 0
  for await (const part of stdin) {
    parts.push(Buffer.from(part))
    size += part.length
    if (size > SIZE_LIMIT) break
  }
  return limited(Buffer.concat(parts), 'standard input')
}

function limited(bytes: Buffer, name: string): string {
  if (bytes.length <= SIZE_LIMIT) return bytes.toString('utf8')
  throw new NodeProxyError('NP_MANIFESTS_INVALID', `${name} is larger than ${SIZE_LIMIT} bytes`)
}

function usageError(message: string, options: { readonly hint?: string } = {}): NodeProxyError {
  return new NodeProxyError('NP_MANIFESTS_USAGE', message, options)
}

function unreadable(path: string, error: unknown): never {
  const code = systemCode(error)
  throw new NodeProxyError('NP_MANIFESTS_INVALID', `${quote(path)} cannot be read: ${code}`, {
    hint: 'check the path that -f names',
  })
}
