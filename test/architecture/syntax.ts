import { parseSync } from 'rolldown/utils'
import type { SourceFile } from './source-file.ts'

/** A node of the syntax tree, as loosely as a walk needs it. */
export interface SyntaxNode {
  readonly type: string
  readonly [field: string]: unknown
}

/** What was parsed last: several rules read one file after the other, and the trees of all files are too large to keep. */
const last: { file?: SourceFile; program?: SyntaxNode } = {}

/** Parses one file; a syntax error is a broken test run, not a finding. */
export function parse(file: SourceFile): SyntaxNode {
  if (last.file === file && last.program !== undefined) return last.program
  const { program, errors } = parseSync(file.path, file.text)
  if (errors.length > 0) throw new SyntaxError(`${file.path}: ${errors[0]?.message}`)
  last.file = file
  last.program = program as unknown as SyntaxNode
  return last.program
}

/**
 * Every node below (and including) `node`, each with its parent, in the order of the source. With a list of what is
 * left, because a node of nested generators costs as many calls as it lies deep.
 */
export function* walk(
  node: SyntaxNode,
  parent?: SyntaxNode,
): Generator<readonly [SyntaxNode, SyntaxNode | undefined]> {
  const left: (readonly [SyntaxNode, SyntaxNode | undefined])[] = [[node, parent]]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    yield next
    const values = Object.values(next[0])
    for (let at = values.length - 1; at >= 0; at--) {
      const value = values[at]
      if (Array.isArray(value)) {
        for (let i = value.length - 1; i >= 0; i--) {
          if (isNode(value[i])) left.push([value[i], next[0]])
        }
      } else if (isNode(value)) left.push([value, next[0]])
    }
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value
}

/** The text of an identifier or of a string literal; undefined for anything else. */
export function nameOf(value: unknown): string | undefined {
  if (!isNode(value)) return undefined
  const text = value.type === 'Literal' ? value['value'] : value['name']
  return typeof text === 'string' ? text : undefined
}
