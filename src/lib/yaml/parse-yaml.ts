import {
  type Alias,
  type Document,
  type DocumentOptions,
  isAlias,
  LineCounter,
  type Node,
  type ParseOptions,
  parseAllDocuments,
  parseDocument,
  type SchemaOptions,
  visit,
  type YAMLParseError,
} from 'yaml'

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
export function parseYaml(source: Source, options: YamlOptions): Parsed<Document> {
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
