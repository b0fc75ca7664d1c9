import { Document, type Scalar, visit } from 'yaml'

/** The value of a plain YAML scalar. */
export type ScalarValue = string | number | boolean | null

/**
 * The words that kubectl and kube-apiserver do not read as text: those of YAML 1.1, each in three letter cases,
 * with `y` and `n`.
 */
const WORDS: ReadonlyMap<string, number | boolean | null> = new Map<
  string,
  number | boolean | null
>([
  ...inThreeCases(['y', 'yes', 'true', 'on'], true),
  ...inThreeCases(['n', 'no', 'false', 'off'], false),
  ...inThreeCases(['null', ''], null),
  ['~', null],
  ...['.inf', '.Inf', '.INF'].flatMap((word) => signed(word, Number.POSITIVE_INFINITY)),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
])
const INTEGER = /^[-+]?(?:0[xX][\da-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|[1-9]\d*|0)$/
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/
const MIN_INTEGER = -(2n ** 63n)
const MAX_INTEGER = 2n ** 64n - 1n

/** The options with which `yaml` reads a text whose scalars `resolveScalars` is to resolve. */
export const UNRESOLVED = {
  schema: 'failsafe',
  merge: true,
  prettyErrors: false,
  logLevel: 'silent',
  resolveKnownTags: false,
} as const

/**
 * The value of a scalar without quotes. The rules are those of the reader that Kubernetes uses (a YAML 1.1 reader written
 * in Go, with Go's prefixes of numbers): `030100` and `0o30100` are 12352, `1_000` is 1000, `yes` and `on` are true,
 * `08` is 8, and dates and `12:30:45` are texts. The numbers that JSON lacks (`.inf`, `.nan`) are left to the caller.
 */
export function scalarOf(text: string): ScalarValue {
  const word = WORDS.get(text)
  if (word !== undefined) return word
  if (!/^[-+.\d]/.test(text)) return text
  const digits = text.startsWith('.') ? text : text.replaceAll('_', '')
  return integerOf(digits) ?? floatOf(digits) ?? text
}

/** A key that merges another map into its own, unless it is quoted. */
const MERGE = { key: '<<', tag: 'tag:yaml.org,2002:merge' }

/** A document to be written: every string in it is read as that string, by readers of YAML 1.1 too. */
export function documentOf(value: unknown): Document {
  const document = new Document(value, {
    version: '1.1',
    aliasDuplicateObjects: false,
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== MERGE.tag),
  })
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== 'string') return
      if (node.value === MERGE.key || typeof scalarOf(node.value) !== 'string') {
        node.type = 'QUOTE_DOUBLE'
      }
    },
  })
  return document
}

/** Gives each scalar of a document that was read with `UNRESOLVED` its value; keys are texts as in JSON. */
export function resolveScalars(document: Document): void {
  visit(document, {
    Scalar(key, node) {
      if (typeof node.value !== 'string') return
      const value = valueOf(node)
      node.value = key === 'key' ? String(value ?? node.value) : value
    },
  })
}

const RESOLVED_TAGS = /^tag:yaml\.org,2002:(?:bool|float|int|null)$/

function valueOf({ value, type, tag }: Scalar): ScalarValue {
  const isResolved = tag === undefined ? type === 'PLAIN' : RESOLVED_TAGS.test(tag)
  return isResolved ? scalarOf(String(value)) : String(value)
}

function integerOf(text: string): number | undefined {
  if (!INTEGER.test(text)) return undefined
  const magnitude = text.replace(/^[-+]/, '')
  const number = BigInt(/^0\d/.test(magnitude) ? `0o${magnitude.slice(1)}` : magnitude)
  const signed = text.startsWith('-') ? -number : number
  return signed < MIN_INTEGER || signed > MAX_INTEGER ? undefined : Number(signed)
}

function floatOf(text: string): number | undefined {
  const number = FLOAT.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

function signed(word: string, value: number): readonly (readonly [string, number])[] {
  return [
    [word, value],
    [`+${word}`, value],
    [`-${word}`, -value],
  ]
}

function inThreeCases<T>(words: readonly string[], value: T): readonly (readonly [string, T])[] {
  return words.flatMap((word) => {
    const capitalised = `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`
    return [word, capitalised, word.toUpperCase()].map((one) => [one, value] as const)
  })
}
