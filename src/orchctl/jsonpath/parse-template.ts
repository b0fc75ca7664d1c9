import type { Json } from '../../lib/json.ts'
import { Scanner } from './scanner.ts'
import type { Filter, Operand, Operator, Part, Path, Step, Template } from './template.ts'

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
  const text = scanner.match(/-?\d*(?::-?\d*){0,2}/)
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
  if (word in WORDS) return { literal: WORDS[word] ?? null }
  if (word !== '' && Number.isFinite(number)) return { literal: number }
  throw scanner.error('a path such as @.name, or a value in quotes, is missing')
}
