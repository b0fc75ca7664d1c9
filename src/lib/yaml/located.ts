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

/** A value of a YAML (or JSON) document, and where it stands. */
export interface Located {
  /** Where the value stands, or its field if it is not written out. */
  readonly at: Position
  /** Where its field is named; of an item and of the whole document the same as `at`. */
  readonly fieldAt: Position
  /** `rules[2].level`; empty: the whole document. */
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

/** What is wrong with a field. */
export interface FieldFault {
  /** A place in a file; undefined where it was not read from one. */
  readonly at: Position | undefined
  /** `rules[2].level`; empty when it concerns the whole. */
  readonly field: string
  /** What stands there, as JSON; undefined when nothing does. */
  readonly value: string | undefined
  /** What is wrong and what to do. */
  readonly message: string
}

const MAX_LENGTH = 1 << 20
const MAX_VALUES = 20_000
const MAX_DEPTH = 10

/**
 * The values of the only document of a text of at most 1 MiB. Aliases count as what they stand for, so that 20,000 values
 * bound what any arrangement of anchors can become.
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

/** The message for a field that does not exist, where `meant` may have been meant. */
export function unknownField(meant: string | undefined): string {
  return `unknown field; ${meant === undefined ? 'remove it' : `did you mean ${meant}?`}`
}

/** Where a value is in its document. */
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
