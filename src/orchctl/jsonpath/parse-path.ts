import type { Json } from '../../lib/json.ts'
import type { Scanner } from './scanner.ts'
import type { Filter, Operand, Operator, Path, Step } from './template.ts'

const OPERATORS: readonly Operator[] = ['==', '!=', '<=', '>=', '<', '>']
const MAX_STEPS = 100

/** Reads `$.items[*].metadata.name`, `@.x`, `.x['y','z'][0:2]`, `..name`, `[?(@.a=="b")]`. @throws TemplateError */
export function parsePath(scanner: Scanner): Path {
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

/** A name behind a dot; a backslash quotes the character behind it. None: the value itself. */
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

const WORDS: Readonly<Record<string, Json>> = { true: true, false: false, null: null }

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
