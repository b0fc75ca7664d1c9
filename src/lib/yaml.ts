import {
  type Alias,
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParseOptions,
  parseAllDocuments,
  parseDocument,
  type Scalar,
  type SchemaOptions,
  visit,
  type YAMLParseError,
} from 'yaml'

/** A value of a YAML (or JSON) document and its place. */
export interface Located {
  /** The place of the value, or of its field if the value is left out. */
  readonly at: Position
  /** The place of its field's name; `at` for an item of a list and for the whole document. */
  readonly fieldAt: Position
  /** For example `rules[2].level`; empty for the whole document. */
  readonly path: string
  readonly value: LocatedValue
}

export type LocatedValue =
  | { readonly scalar: string | number | boolean | null }
  | { readonly items: readonly Located[] }
  | { readonly fields: Fields }
  /** What to write instead. */
  | { readonly unreadable: string }

export type Fields = ReadonlyMap<string, Located>

export type LocatedResult =
  | { readonly ok: true; readonly root: Located }
  | { readonly ok: false; readonly faults: readonly Fault[] }

export interface FieldFault {
  /** The place in the file; undefined if the value does not come from a file. */
  readonly at: Position | undefined
  /** For example `rules[2].level`; empty if the fault concerns the whole document. */
  readonly field: string
  /** The value as JSON; undefined if there is none. */
  readonly value: string | undefined
  /** What is wrong and what to do. */
  readonly message: string
}

const MAX_BYTES = 1 << 20
const MAX_VALUES = 20_000
const MAX_DEPTH = 10

/**
 * Reads a text of one document and at most 1 MiB. An alias counts as many values as the node that it refers to, so the
 * limit of 20,000 values holds for any arrangement of anchors.
 */
export function locateYaml(source: Source): LocatedResult {
  if (Buffer.byteLength(source.text) > MAX_BYTES) {
    const at = { file: source.file, line: 1, column: 1 }
    return { ok: false, faults: [{ at, message: 'larger than 1 MiB' }] }
  }
  const parsed = parseYaml(source, { stringKeys: true })
  return parsed.ok ? { ok: true, root: new Locator(parsed).locateDocument() } : parsed
}

/** `server.yaml:3:7: server.timeout: "30": write a duration …` */
export function describeFault({ at, field, value, message }: FieldFault): string {
  const place = at === undefined ? '' : positionText(at)
  return [place, field, value ?? '', message].filter((part) => part !== '').join(': ')
}

/** The message for an unknown field; `meant`: the field that was probably meant. */
export function unknownField(meant: string | undefined): string {
  return `unknown field; ${meant === undefined ? 'remove it' : `did you mean ${meant}?`}`
}

/** The path of a value in its document, and its places. */
interface NodePlace {
  readonly at: Position
  readonly fieldAt: Position
  readonly path: string
  readonly depth: number
}

class Locator {
  readonly #document: Document
  readonly #place: (offset: number) => Position
  readonly #targets: ReadonlyMap<Alias, Node | undefined>
  #values = 0

  constructor({ parsed, place }: Extract<Parsed<Document>, { ok: true }>) {
    this.#document = parsed
    this.#place = place
    this.#targets = aliasTargets(parsed)
  }

  locateDocument(): Located {
    const { contents } = this.#document
    const at = this.#place(contents?.range?.[0] ?? 0)
    return this.#locate(contents, { at, fieldAt: at, path: '', depth: 0 })
  }

  #locate(node: Node | null, { at, fieldAt, path, depth }: NodePlace): Located {
    const target = isAlias(node) ? this.#targets.get(node) : node
    const value: LocatedValue =
      target === undefined ? { unreadable: ALIAS_WITHOUT_ANCHOR } : this.#read(target, path, depth)
    return { at, fieldAt, path, value }
  }

  #read(node: Node | null, path: string, depth: number): LocatedValue {
    if (!isSeq<Node>(node) && !isMap<Node, Node | null>(node)) {
      return isScalar(node) ? readScalar(node) : { scalar: null }
    }
    if (depth >= MAX_DEPTH) return { unreadable: 'nested too deeply' }
    if (this.#values + node.items.length > MAX_VALUES) return { unreadable: 'too many values' }
    this.#values += node.items.length
    if (isSeq<Node>(node)) {
      const items = node.items.map((item, index) => {
        const at = this.#place(item.range?.[0] ?? 0)
        return this.#locate(item, { at, fieldAt: at, path: `${path}[${index}]`, depth: depth + 1 })
      })
      return { items }
    }
    const prefix = path === '' ? '' : `${path}.`
    const fields = node.items.map(({ key, value }): [string, Located] => {
      const name = String(isScalar(key) ? key.value : key)
      const fieldAt = this.#place(key.range?.[0] ?? 0)
      const at = value?.range ? this.#place(value.range[0]) : fieldAt
      return [name, this.#locate(value, { at, fieldAt, path: prefix + name, depth: depth + 1 })]
    })
    return { fields: new Map(fields) }
  }
}

function readScalar({ value, source, type }: Scalar): LocatedValue {
  if (type === 'PLAIN' && /^[-+]?0[0-9]/.test(source ?? '') && typeof value === 'number') {
    return { unreadable: 'a leading zero is octal to some and decimal to others; leave it out' }
  }
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) {
    return { scalar: value }
  }
  return typeof value === 'number' && Number.isFinite(value)
    ? { scalar: value }
    : { unreadable: 'write text, a number, true or false' }
}

/** A place in a file; line and column count from 1. */
export interface Position {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** The text of a file, or of the standard input. */
export interface Source {
  /** For messages. */
  readonly file: string
  readonly text: string
}

/** A fault of the text, and its place. */
export interface Fault {
  readonly at: Position
  readonly message: string
}

/** The documents of a text and a function that locates an offset, or the first ten reasons why it is not YAML. */
export type Parsed<D> =
  | { readonly ok: true; readonly parsed: D; readonly place: (offset: number) => Position }
  | { readonly ok: false; readonly faults: readonly [Fault, ...Fault[]] }

export type YamlOptions = ParseOptions & DocumentOptions & SchemaOptions

/** The message for an alias whose anchor is missing or follows later. */
export const ALIAS_WITHOUT_ANCHOR = 'an alias without its anchor; write the value itself'

const MAX_FAULTS = 10
const ADVICE: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'the field stands here for the second time; remove one',
  TAB_AS_INDENT: 'tabs cannot indent YAML; use spaces',
  MULTIPLE_DOCS: 'a second document starts here; keep one in the file',
  RESOURCE_EXHAUSTION: 'nested too deeply',
}

/** Parses a text of one document. */
function parseYaml(source: Source, options: YamlOptions): Parsed<Document> {
  return parse(source, options, (text, all) => {
    const document = parseDocument(text, all)
    return [document, document.errors]
  })
}

/** Parses a text of any number of documents. */
export function parseYamlStream(source: Source, options: YamlOptions): Parsed<readonly Document[]> {
  return parse(source, options, (text, all) => {
    const documents = [...parseAllDocuments(text, all)] as readonly Document[]
    return [documents, documents.flatMap(({ errors }) => errors)]
  })
}

/** `web.yaml:3:5`. */
export function positionText({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`
}

/** The node that each alias of a document refers to; undefined if its anchor is missing. */
export function aliasTargets(document: Document): ReadonlyMap<Alias, Node | undefined> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node | undefined>()
  visit(document, {
    Node(_, node) {
      if (isAlias(node)) targets.set(node, anchors.get(node.source))
      else if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
  })
  return targets
}

function parse<D>(
  { file, text }: Source,
  options: YamlOptions,
  read: (text: string, options: YamlOptions) => readonly [D, readonly YAMLParseError[]],
): Parsed<D> {
  const lineCounter = new LineCounter()
  const place = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset)
    return { file, line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const [parsed, errors] = read(text, Object.assign({ lineCounter, prettyErrors: false }, options))
  const [first, ...others] = errors.slice(0, MAX_FAULTS).map(({ pos, code, message }) => ({
    at: place(pos[0]),
    message: ADVICE[code] ?? `not YAML: ${message}`,
  }))
  return first === undefined
    ? { ok: true, parsed, place }
    : { ok: false, faults: [first, ...others] }
}
