import type { Json } from '../../lib/json.ts'

const OPERATORS: readonly Operator[] = ['==', '!=', '<=', '>=', '<', '>']
const MAX_STEPS = 100

const WORDS: Readonly<Record<string, Json>> = { true: true, false: false, null: null }

/**
 * Reads a template of kubectl: text, `{.path}`, `{"text\n"}`, `{range .items[*]}…{end}`.
 * @throws TemplateError
 */
export function parseTemplate(text: string): Template {
  const scanner = new Scanner(text)
  const parts = parseParts(scanner, 0)
  if (!scanner.isAtEnd) throw scanner.error('{end} without {range}')
  return parts
}

/** Reads a single path with or without braces, as `--sort-by` and columns have it. @throws TemplateError */
export function parseSinglePath(text: string): Path {
  const inner = /^\{(.*)\}$/su.exec(text.trim())?.[1] ?? text.trim()
  const scanner = new Scanner(inner)
  const path = parsePath(scanner)
  if (!scanner.isAtEnd) throw scanner.error('a path cannot go on like this')
  return path
}

const MAX_DEPTH = 20

/** Reads parts up to the end, or up to and including an `{end}`. */
function parseParts(scanner: Scanner, depth: number): Part[] {
  const parts: Part[] = []
  while (!scanner.isAtEnd) {
    const text = scanner.match(/[^{]+/)
    if (text !== '') parts.push({ type: 'text', text })
    const start = scanner.at
    if (!scanner.take('{')) continue
    scanner.skipSpaces()
    if (scanner.take('end')) {
      if (depth === 0) {
        scanner.at = start
        return parts
      }
      closeBrace(scanner)
      return parts
    }
    parts.push(...parseAction(scanner, depth))
  }
  if (depth > 0) throw scanner.error('{end} is missing')
  return parts
}

/** Reads the content of braces: several texts and paths, or one range with its body. */
function parseAction(scanner: Scanner, depth: number): readonly Part[] {
  if (scanner.match(/range\s+/) !== '') {
    if (depth >= MAX_DEPTH) throw scanner.error('ranges are nested too deeply')
    const path = parsePath(scanner)
    closeBrace(scanner)
    return [{ type: 'range', path, body: parseParts(scanner, depth + 1) }]
  }
  const parts: Part[] = []
  while (!scanner.take('}')) {
    const { at, next } = scanner
    if (next === '"' || next === "'") parts.push({ type: 'text', text: scanner.quoted() })
    else parts.push({ type: 'path', path: parsePath(scanner) })
    scanner.skipSpaces()
    if (scanner.at === at) throw scanner.error('a path such as .metadata.name is missing')
  }
  return parts
}

function closeBrace(scanner: Scanner): void {
  scanner.skipSpaces()
  scanner.expect('}')
}

/** Reads `$.items[*].metadata.name`, `@.x`, `.x['y','z'][0:2]`, `..name`, `[?(@.a=="b")]`. @throws TemplateError */
function parsePath(scanner: Scanner): Path {
  const steps: Step[] = []
  if (scanner.take('$')) steps.push({ type: 'root' })
  else scanner.take('@')
  for (;;) {
    const step = parseStep(scanner)
    if (step === undefined) return steps
    steps.push(...step)
    if (steps.length > MAX_STEPS) throw scanner.error(`the path has more than ${MAX_STEPS} steps`)
  }
}

function parseStep(scanner: Scanner): readonly Step[] | undefined {
  if (scanner.take('..')) {
    if (scanner.next === '[') return [{ type: 'descend' }]
    return [{ type: 'descend' }, ...fieldStep(scanner)]
  }
  if (scanner.take('[')) return [parseBrackets(scanner)]
  if (scanner.take('.')) return scanner.next === '[' ? [] : fieldStep(scanner)
  return /[\p{L}_*]/u.test(scanner.next) ? fieldStep(scanner) : undefined
}

/** Reads a name after a dot; a backslash quotes the next character. Without a name, there is no step. */
function fieldStep(scanner: Scanner): readonly Step[] {
  if (scanner.take('*')) return [{ type: 'wildcard' }]
  const name = scanner.match(/(?:\\.|[^\s.[\]{}()'"\\,=!<>|&?*@])+/)
  return name === '' ? [] : [{ type: 'field', name: name.replaceAll(/\\(.)/gu, '$1') }]
}

function parseBrackets(scanner: Scanner): Step {
  scanner.skipSpaces()
  if (scanner.take('?(')) {
    const filter = parseFilter(scanner)
    scanner.expect(']')
    return { type: 'filter', filter }
  }
  const parts: Step[] = []
  do {
    scanner.skipSpaces()
    parts.push(parseIndex(scanner))
    scanner.skipSpaces()
  } while (scanner.take(','))
  scanner.expect(']')
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : { type: 'union', parts }
}

function parseIndex(scanner: Scanner): Step {
  if (scanner.take('*')) return { type: 'wildcard' }
  if (scanner.next === "'" || scanner.next === '"') return { type: 'field', name: scanner.quoted() }
  const text = scanner.match(/(?:-?\d+)?(?::(?:-?\d+)?){0,2}/)
  if (text === '') throw scanner.error('an index, a name in quotes or * is missing')
  const [from, to, step] = text.split(':').map((part) => (part === '' ? undefined : Number(part)))
  if (!text.includes(':')) return { type: 'slice', ...indexed(from ?? 0) }
  return {
    type: 'slice',
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(step === undefined ? {} : { step }),
  }
}

/** One index as a slice; -1 is the last item. */
function indexed(index: number): { readonly from: number; readonly to?: number } {
  return index === -1 ? { from: -1 } : { from: index, to: index + 1 }
}

function parseFilter(scanner: Scanner): Filter {
  scanner.skipSpaces()
  const left = parseOperand(scanner)
  scanner.skipSpaces()
  const operator = OPERATORS.find((one) => scanner.take(one))
  if (operator === undefined) {
    scanner.expect(')')
    return { left }
  }
  scanner.skipSpaces()
  const right = parseOperand(scanner)
  scanner.skipSpaces()
  scanner.expect(')')
  return { left, operator, right }
}

function parseOperand(scanner: Scanner): Operand {
  const { next } = scanner
  if (next === "'" || next === '"') return { literal: scanner.quoted() }
  if (next === '@' || next === '$' || next === '.') return { path: parsePath(scanner) }
  const word = scanner.match(/[-\w.]+/)
  const number = Number(word)
  if (Object.hasOwn(WORDS, word)) return { literal: WORDS[word] ?? null }
  if (word !== '' && Number.isFinite(number)) return { literal: number }
  throw scanner.error('a path such as @.name, or a value in quotes, is missing')
}

/** Why a template cannot be read. */
export class TemplateError extends Error {
  override readonly name = 'TemplateError'
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

/** Reads a text from left to right. */
class Scanner {
  readonly #text: string
  at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length
  }

  /** The next character; empty at the end. */
  get next(): string {
    return this.#text[this.at] ?? ''
  }

  /** Skips `words` if they are next. @returns whether they were */
  take(words: string): boolean {
    if (!this.#text.startsWith(words, this.at)) return false
    this.at += words.length
    return true
  }

  /** Skips and returns the text that a sticky pattern matches here; empty: no match. */
  match(pattern: RegExp): string {
    const sticky = new RegExp(pattern.source, 'uy')
    sticky.lastIndex = this.at
    const found = sticky.exec(this.#text)?.[0] ?? ''
    this.at += found.length
    return found
  }

  skipSpaces(): void {
    this.match(/\s*/)
  }

  /** Skips `words`. @throws TemplateError when they are not next */
  expect(words: string): void {
    if (!this.take(words)) throw this.error(`${words} is missing`)
  }

  /** Reads a text in single or double quotes. @throws TemplateError */
  quoted(): string {
    const quote = this.next
    this.at++
    let text = ''
    while (this.next !== quote) {
      if (this.isAtEnd) throw this.error(`the closing ${quote} is missing`)
      const character = this.next
      this.at++
      if (character !== '\\') text += character
      else {
        text += ESCAPES[this.next] ?? this.next
        this.at++
      }
    }
    this.at++
    return text
  }

  error(message: string): TemplateError {
    return new TemplateError(`${message} at character ${this.at + 1}`)
  }
}

/** One step of a path. */
export type Step =
  | { readonly type: 'root' }
  | { readonly type: 'field'; readonly name: string }
  | { readonly type: 'wildcard' }
  /** All values below, at any depth. */
  | { readonly type: 'descend' }
  | { readonly type: 'slice'; readonly from?: number; readonly to?: number; readonly step?: number }
  | { readonly type: 'union'; readonly parts: readonly Step[] }
  | { readonly type: 'filter'; readonly filter: Filter }

export type Path = readonly Step[]

export type Operator = '==' | '!=' | '<' | '<=' | '>' | '>='

/** A side of a comparison. */
export type Operand = { readonly path: Path } | { readonly literal: Json }

/** `?(@.name=="x")`; without operator: whether the left side exists. */
export interface Filter {
  readonly left: Operand
  readonly operator?: Operator
  readonly right?: Operand
}

/** A part of a template. */
export type Part =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'path'; readonly path: Path }
  | { readonly type: 'range'; readonly path: Path; readonly body: readonly Part[] }

export type Template = readonly Part[]
