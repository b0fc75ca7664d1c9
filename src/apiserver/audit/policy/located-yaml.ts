import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
} from 'yaml'

/** A value of a YAML file and its position. */
export interface Located {
  readonly line: number
  readonly column: number
  /** `rules[2].level`; empty: the whole file. */
  readonly path: string
  readonly value: Scalar | readonly Located[] | ReadonlyMap<string, Located>
}

type Scalar = string | number | boolean | null

/** Why a file is not YAML that can be read here. */
export interface YamlFault {
  readonly line: number
  readonly column: number
  readonly message: string
}

const MAX_LENGTH = 1 << 20
const MAX_VALUES = 20_000
const MAX_DEPTH = 10

const ADVICE: Readonly<Record<string, string>> = {
  DUPLICATE_KEY: 'the field stands here for the second time; remove one',
  TAB_AS_INDENT: 'tabs cannot indent YAML; use spaces',
  MULTIPLE_DOCS: 'a second document starts here; keep one in the file',
}

/**
 * The values of one YAML document with their positions. Aliases are counted in expanded form, so the limit of
 * 20,000 values also bounds what anchors can expand to.
 */
export function locateYaml(text: string): Located | YamlFault {
  const lines = new LineCounter()
  if (text.length > MAX_LENGTH) return faultAt(lines, 0, 'larger than 1 MiB: that is not a policy')
  const document = parse(text, lines)
  if (document === undefined) return faultAt(lines, 0, 'nested too deeply')
  const [error] = document.errors
  if (error !== undefined) {
    return faultAt(lines, error.pos[0], ADVICE[error.code] ?? `not YAML: ${error.code}`)
  }
  try {
    return new Locator(document, lines).locate(document.contents, 0, { path: '', depth: 0 })
  } catch (fault) {
    if (fault instanceof ReadFault) return faultAt(lines, fault.offset, fault.message)
    throw fault
  }
}

export function isYamlFault(read: Located | YamlFault): read is YamlFault {
  return 'message' in read
}

function faultAt(lines: LineCounter, offset: number, message: string): YamlFault {
  const { line, col } = lines.linePos(offset)
  return { line: Math.max(line, 1), column: Math.max(col, 1), message }
}

/** Undefined: the parser ran out of stack. */
function parse(text: string, lineCounter: LineCounter): Document | undefined {
  try {
    return parseDocument(text, { lineCounter, prettyErrors: false, stringKeys: true })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

class ReadFault extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

interface Nesting {
  readonly path: string
  readonly depth: number
}

class Locator {
  readonly #document: Document
  readonly #lines: LineCounter
  #values = 0

  constructor(document: Document, lines: LineCounter) {
    this.#document = document
    this.#lines = lines
  }

  /** `offset`: the position of the value, or of its field if the value is not written out. */
  locate(node: Node | null, offset: number, { path, depth }: Nesting): Located {
    if (++this.#values > MAX_VALUES) throw new ReadFault(offset, 'too many values for a policy')
    if (depth > MAX_DEPTH) throw new ReadFault(offset, 'nested too deeply')
    const { line, col } = this.#lines.linePos(offset)
    const value = this.#valueOf(this.#target(node, offset), path, depth)
    return { line: Math.max(line, 1), column: Math.max(col, 1), path, value }
  }

  #target(node: Node | null, offset: number): Node | null {
    if (!isAlias(node)) return node
    const target = node.resolve(this.#document)
    if (target === undefined) throw new ReadFault(offset, 'an alias without its anchor')
    return target
  }

  #valueOf(node: Node | null, path: string, depth: number): Located['value'] {
    if (isSeq<Node>(node)) {
      return node.items.map((item, index) =>
        this.locate(item, item.range?.[0] ?? 0, { path: `${path}[${index}]`, depth: depth + 1 }),
      )
    }
    if (!isMap<Node, Node | null>(node)) return isScalar(node) ? scalarOf(node.value) : null
    const prefix = path === '' ? '' : `${path}.`
    return new Map(
      node.items.map(({ key, value }) => {
        const name = String(isScalar(key) ? key.value : key)
        const offset = value?.range?.[0] ?? key.range?.[0] ?? 0
        const at = { path: `${prefix}${name}`, depth: depth + 1 }
        return [name, this.locate(value ?? null, offset, at)] as const
      }),
    )
  }
}

function scalarOf(value: unknown): Scalar {
  if (typeof value === 'string' || typeof value === 'boolean') return value
  return typeof value === 'number' ? value : null
}
