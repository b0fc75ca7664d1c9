import { importsOf, type ModuleImport } from './module-import.ts'
import { isTest, type SourceFile } from './source-file.ts'
import { nameOf, parse, type SyntaxNode, walk } from './syntax.ts'

const pureModules =
  /^src\/(resources|cluster|forwarding|networkpolicy|policy(?!\/nftables)|announcement|affinity)\//
const pureParts =
  /^src\/modes\/(?:[^/]+\/)+(render|plan|program|base-|server-commands|server-spec|short-circuit-mark)[^/]*\.ts$/

/** Packages and names of Node that compute and do nothing else. */
const pureImports: Readonly<Record<string, readonly string[]>> = {
  'node:crypto': ['hash', 'createHash'],
}

const impureGlobals = new Set([
  'console',
  'crypto',
  'fetch',
  'globalThis',
  'performance',
  'process',
  'queueMicrotask',
  'require',
  'setImmediate',
  'setInterval',
  'setTimeout',
])

const impureMembers = new Set(['Date.now', 'Math.random'])

/**
 * What makes the pure modules impure: input and output, the clock, randomness or
 * the log, in their own files or in anything that those files run (their value
 * imports, followed to the end). Types cost nothing and are not followed.
 */
export function purityFaults(sources: readonly SourceFile[]): readonly string[] {
  const byPath = new Map(sources.map((file) => [file.path, file]))
  const reached = new Map<string, string>()
  const queue = sources.map(({ path }) => path).filter(isPure)
  for (const path of queue) reached.set(path, path)
  const faults: string[] = []
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    const file = byPath.get(path)
    if (file === undefined) continue
    const via = reached.get(path) === path ? path : `${reached.get(path)} → ${path}`
    faults.push(...fileFaults(file).map((fault) => `${via}: ${fault}`))
    for (const { target } of valueImports(file).filter(({ relative }) => relative)) {
      if (reached.has(target)) continue
      reached.set(target, via)
      queue.push(target)
    }
  }
  return faults
}

function isPure(path: string): boolean {
  return !isTest(path) && (pureModules.test(path) || pureParts.test(path))
}

function valueImports(file: SourceFile): readonly ModuleImport[] {
  return importsOf(file).filter(({ typeOnly }) => !typeOnly)
}

function fileFaults(file: SourceFile): readonly string[] {
  const imports = valueImports(file)
    .filter(({ relative }) => !relative)
    .filter(({ target, names }) => !names.every((name) => pureImports[target]?.includes(name)))
    .map(({ target, names }) => `imports ${names.join(', ')} of ${target}`)
  const uses = [...walk(parse(file))].map(([node, parent]) => impureUse(node, parent))
  return [...imports, ...uses.filter((use) => use !== undefined)]
}

function impureUse(node: SyntaxNode, parent: SyntaxNode | undefined): string | undefined {
  if (node.type === 'MemberExpression') {
    const member = `${nameOf(node['object'])}.${nameOf(node['property'])}`
    if (impureMembers.has(member)) return `uses ${member}`
  }
  if (node.type === 'NewExpression' && nameOf(node['callee']) === 'Date') {
    if (Array.isArray(node['arguments']) && node['arguments'].length === 0) return 'uses new Date()'
  }
  if (node.type !== 'Identifier' || isLabel(node, parent)) return undefined
  const name = nameOf(node)
  return name !== undefined && impureGlobals.has(name) ? `uses ${name}` : undefined
}

/** Whether the identifier only names a property or a type's member. */
function isLabel(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent === undefined || parent['computed'] === true) return false
  return parent['property'] === node || (parent['key'] === node && parent['value'] !== node)
}
