import { parseSync } from 'vite'
import type { SourceFile } from './source-file.ts'

/** A node of the syntax tree, as loosely as a walk needs it. */
export interface SyntaxNode {
  readonly type: string
  readonly [field: string]: unknown
}

/** Parses one file; a syntax error is a broken test run, not a finding. */
export function parse(file: SourceFile): SyntaxNode {
  const { program, errors } = parseSync(file.path, file.text)
  if (errors.length > 0) throw new SyntaxError(`${file.path}: ${errors[0]?.message}`)
  return program as unknown as SyntaxNode
}

/** Every node below (and including) `node`, each with its parent. */
export function* walk(
  node: SyntaxNode,
  parent?: SyntaxNode,
): Generator<readonly [SyntaxNode, SyntaxNode | undefined]> {
  yield [node, parent]
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child)) yield* walk(child, node)
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
