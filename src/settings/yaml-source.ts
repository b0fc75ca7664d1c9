import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLMap,
  type YAMLParseError,
} from 'yaml'
import type { Position, Problem, ProblemCodes } from './problem.ts'
import type { ConfigurationFile } from './read-file.ts'
import type { Raw } from './value-type.ts'

const LARGEST = 1_048_576
const MAX_ITEMS = 1_000
const MAX_ENTRIES = 10_000
const MAX_ALIASES = 100
const DEEPEST = 5

/** One `key: value` of a file, before it is matched with a field. */
export interface Entry {
  readonly key: string
  readonly keyAt: Position
  readonly valueAt: Position
  readonly value:
    | { readonly raw: Raw }
    | { readonly map: readonly Entry[] }
    | { readonly bad: string }
}

/** The entries of a file, or why it cannot be parsed. */
export type YamlResult =
  | { readonly ok: true; readonly entries: readonly Entry[]; readonly start: Position }
  | { readonly ok: false; readonly problems: readonly Problem[] }

const ADVICE: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'the field stands here for the second time; remove one',
  TAB_AS_INDENT: 'tabs cannot indent YAML; use spaces',
  MULTIPLE_DOCS: 'a second document starts here; keep one in the file',
}

/**
 * The entries of a YAML (or JSON) file, with their places. Nothing is expanded:
 * values are read where they stand, maps five levels deep, 10,000 fields in all,
 * lists up to 1,000 items, the first 100 aliases, so no arrangement of anchors can grow.
 */
export function readYaml(
  { name, text }: ConfigurationFile,
  { syntax: code }: ProblemCodes,
): YamlResult {
  const lines = new LineCounter()
  const source = new Source(name, lines)
  const parsed = parse(text, lines)
  if (!parsed.ok) {
    const problems = parsed.faults.map(({ offset, message }) => ({
      code,
      at: source.at(offset),
      field: '',
      value: undefined,
      message,
    }))
    return { ok: false, problems }
  }
  const { document, map } = parsed
  const start = source.at(map.range?.[0] ?? 0)
  return { ok: true, start, entries: source.entries(document, map, 0) }
}

interface Fault {
  readonly offset: number
  readonly message: string
}

type Parsed =
  | { readonly ok: true; readonly document: Document; readonly map: YAMLMap }
  | { readonly ok: false; readonly faults: readonly Fault[] }

function parse(text: string, lines: LineCounter): Parsed {
  if (text.length > LARGEST) return unreadable('larger than 1 MiB: that is no configuration')
  const document = parseShallow(text, lines)
  if (document === undefined) return unreadable('nested too deeply; write plain maps')
  if (document.errors.length > 0) {
    return { ok: false, faults: document.errors.slice(0, 10).map(explain) }
  }
  return isMap(document.contents)
    ? { ok: true, document, map: document.contents }
    : unreadable('write a map of fields, not this')
}

/** Undefined where the parser runs out of stack. */
function parseShallow(text: string, lineCounter: LineCounter): Document | undefined {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

function explain(error: YAMLParseError): Fault {
  const message = ADVICE[error.code] ?? `not YAML: ${error.message}`
  return { offset: error.pos[0], message }
}

function unreadable(message: string): Parsed {
  return { ok: false, faults: [{ offset: 0, message }] }
}

class Source {
  readonly #file: string
  readonly #lines: LineCounter
  #budget = MAX_ENTRIES
  #aliases = MAX_ALIASES

  constructor(file: string, lines: LineCounter) {
    this.#file = file
    this.#lines = lines
  }

  at(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset)
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1) }
  }

  entries(document: Document, map: YAMLMap, depth: number): readonly Entry[] {
    const items = map.items.slice(0, this.#budget)
    this.#budget -= items.length
    return items.map((pair) => this.#entry(document, pair, depth))
  }

  #entry(document: Document, pair: Pair, depth: number): Entry {
    const key = pair.key as Node
    const keyAt = this.at(key.range?.[0] ?? 0)
    const node = pair.value as Node | null
    const valueAt = node?.range ? this.at(node.range[0]) : keyAt
    return {
      key: String(isScalar(key) ? key.value : key),
      keyAt,
      valueAt,
      value: this.#value(document, node, depth),
    }
  }

  #value(document: Document, node: Node | null, depth: number): Entry['value'] {
    const target = isAlias(node) && this.#aliases-- > 0 ? (node.resolve(document) ?? node) : node
    if (isMap(target)) {
      return depth < DEEPEST && target.items.length <= this.#budget
        ? { map: this.entries(document, target, depth + 1) }
        : { bad: 'too deep or too large; write one value, not a map' }
    }
    return readValue(target ?? null)
  }
}

function readValue(node: Node | null): Entry['value'] {
  if (node === null) return { raw: null }
  if (isSeq(node)) return readList(node.items)
  if (!isScalar(node))
    return { bad: 'an alias that leads nowhere, or one of too many; write the value itself' }
  const { value, source, type } = node
  if (type === 'PLAIN' && /^[-+]?0[0-9]/.test(source ?? '') && typeof value === 'number') {
    return { bad: 'a leading zero is octal to some and decimal to others; leave it out' }
  }
  if (typeof value === 'string' || typeof value === 'boolean' || value === null)
    return { raw: value }
  return typeof value === 'number' && Number.isFinite(value)
    ? { raw: value }
    : { bad: 'write text, a number, true or false' }
}

function readList(items: readonly unknown[]): Entry['value'] {
  if (items.length > MAX_ITEMS) return { bad: `write at most ${MAX_ITEMS} items` }
  const raw: Raw[] = []
  for (const item of items) {
    const read = isScalar(item) ? readValue(item) : undefined
    if (read === undefined || !('raw' in read)) return { bad: 'write a list of plain values' }
    raw.push(read.raw)
  }
  return { raw }
}
