import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
} from 'yaml'
import {
  ALIAS_WITHOUT_ANCHOR,
  aliasTargets,
  type Fault,
  type Parsed,
  type Position,
  parseYaml,
  positionText,
  type Source,
} from './parse-yaml.ts'

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

/** A fault of a field. */
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

const MAX_LENGTH = 1 << 20
const MAX_VALUES = 20_000
const MAX_DEPTH = 10

/**
 * Reads a text of one document and at most 1 MiB. An alias counts as many values as the node that it refers to, so the
 * limit of 20,000 values holds for any arrangement of anchors.
 */
export function locateYaml(source: Source): LocatedResult {
  if (source.text.length > MAX_LENGTH) {
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
