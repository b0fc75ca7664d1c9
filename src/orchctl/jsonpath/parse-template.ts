import { parsePath } from './parse-path.ts'
import { Scanner } from './scanner.ts'
import type { Part, Path, Template } from './template.ts'

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

/** Until the end, or behind an `{end}`. */
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

/** What is inside of braces: several texts and paths, or one range with its body. */
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
