import { posix } from 'node:path'
import type { SourceFile } from './source-file.ts'
import { isNode, nameOf, parse, type SyntaxNode, walk } from './syntax.ts'

/** One module that a file refers to, in whatever syntax. */
export interface ModuleImport {
  readonly from: string
  /** A path from the root for a relative import; the bare specifier otherwise. */
  readonly target: string
  readonly relative: boolean
  /** Only types are taken, so nothing of the target runs. */
  readonly typeOnly: boolean
  /** The imported names; `*` for namespaces, re-exports and dynamic imports. */
  readonly names: readonly string[]
}

const found = new WeakMap<SourceFile, readonly ModuleImport[]>()

/** Static and dynamic imports, re-exports and `import('…')` types of one file; each file is read for them once. */
export function importsOf(file: SourceFile): readonly ModuleImport[] {
  const imports = found.get(file) ?? findImports(file)
  found.set(file, imports)
  return imports
}

function findImports(file: SourceFile): readonly ModuleImport[] {
  return nodesWithImports(file).flatMap((node) => {
    const specifier = nameOf(node['source'])
    if (!node.type.includes('Import') && !node.type.startsWith('Export')) return []
    if (specifier === undefined) return []
    const relative = specifier.startsWith('.')
    const target = relative ? posix.join(posix.dirname(file.path), specifier) : specifier
    return [{ from: file.path, target, relative, typeOnly: isTypeOnly(node), names: names(node) }]
  })
}

/** Only `import(…)` can be anywhere: all else is at the top of a file. */
function nodesWithImports(file: SourceFile): readonly SyntaxNode[] {
  const program = parse(file)
  if (/\bimport\s*\(/.test(file.text)) return [...walk(program)].map(([node]) => node)
  return Array.isArray(program['body']) ? program['body'].filter(isNode) : []
}

function isTypeOnly(node: SyntaxNode): boolean {
  if (node.type === 'TSImportType') return true
  if (node['importKind'] === 'type' || node['exportKind'] === 'type') return true
  const parts = specifiers(node)
  const kind = node.type === 'ImportDeclaration' ? 'importKind' : 'exportKind'
  return parts.length > 0 && parts.every((part) => part[kind] === 'type')
}

function names(node: SyntaxNode): readonly string[] {
  const parts = specifiers(node)
  if (parts.length === 0) return ['*']
  return parts.map((part) => nameOf(part['imported']) ?? nameOf(part['local']) ?? '*')
}

function specifiers(node: SyntaxNode): readonly SyntaxNode[] {
  const list = node['specifiers']
  return Array.isArray(list) ? list.filter(isNode) : []
}
