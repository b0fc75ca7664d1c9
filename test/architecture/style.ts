import { importsOf } from './module-import.ts'
import { isTest, type SourceFile } from './source-file.ts'
import { isNode, nameOf, parse, type SyntaxNode, walk } from './syntax.ts'

const vagueName = /(^|[/-])(utils?|helpers|managers?|commons?|misc)([/.-]|$)/
/** Files of tests share loaded modules, so that a mock would hold in some of their orders only. */
const mockedModule = /\bvi\.(?:mock|doMock)\(/
/** What may be one: most files have none, and need not be parsed for it. */
const spreadLiteral = /\.\.\.\s*(?:\{|\[|\/[/*])/
const placeholder = /\b(TODO|FIXME|XXX)\b/

/** The rules of style that no linter of ours knows, for one file of `src`. */
export function styleFaults(file: SourceFile): readonly string[] {
  const program = parse(file)
  const faults = [...walk(program)].flatMap(([node]) => nodeFault(node) ?? [])
  if (vagueName.test(file.path)) faults.push('has a name that says nothing')
  if (placeholder.test(file.text)) faults.push('holds a placeholder')
  if (mockedModule.test(file.text)) faults.push('mocks a module')
  if (!isTest(file.path)) faults.push(...moduleState(program))
  faults.push(...relativeWithoutExtension(file))
  return [
    ...faults.map((fault) => `${file.path}: ${fault}`),
    ...shortWaits(file),
    ...literalSpreads(file),
  ]
}

/** What a test waits for with the timeout of vitest, which a busy machine outlasts. */
export function shortWaits(file: SourceFile): readonly string[] {
  if (!file.text.includes('vi.wait')) return []
  return [...walk(parse(file))]
    .filter(([node]) => isShortWait(node))
    .map(() => `${file.path}: waits for one second: use expect.poll, or give a timeout`)
}

/** Fields and elements with a spread around them, where the compiler does not report a misspelt optional field. */
export function literalSpreads(file: SourceFile): readonly string[] {
  if (!spreadLiteral.test(file.text)) return []
  return [...walk(parse(file))].flatMap(([node]) =>
    spreadIn(node).map(() => `${file.path}: spreads a literal: write what is in it`),
  )
}

function spreadIn(node: SyntaxNode): readonly SyntaxNode[] {
  const isObject = node.type === 'ObjectExpression'
  const parts = node['properties'] ?? node['elements'] ?? node['arguments']
  if (!Array.isArray(parts)) return []
  return parts.filter(isNode).filter(({ type, argument }) => {
    if (type !== 'SpreadElement' || !isNode(argument)) return false
    return argument.type === (isObject ? 'ObjectExpression' : 'ArrayExpression')
  })
}

function isShortWait({ type, callee, arguments: args }: SyntaxNode): boolean {
  if (type !== 'CallExpression' || !isNode(callee) || !Array.isArray(args)) return false
  const isWait = ['waitFor', 'waitUntil'].includes(nameOf(callee['property']) ?? '')
  return isWait && nameOf(callee['object']) === 'vi' && args.length < 2
}

function nodeFault(node: SyntaxNode): string | undefined {
  if (node.type === 'ExportDefaultDeclaration') return 'has a default export'
  if (node.type !== 'ClassDeclaration' && node.type !== 'ClassExpression') return undefined
  const parent = node['superClass']
  if (!isNode(parent) || nameOf(parent) === 'Error') return undefined
  return `class ${nameOf(node['id'])} inherits from ${nameOf(parent) ?? 'an expression'}`
}

/** Variables of a module that can be assigned again. */
function moduleState(program: SyntaxNode): readonly string[] {
  const statements = Array.isArray(program['body']) ? program['body'].filter(isNode) : []
  return statements
    .map((statement) => statement['declaration'] ?? statement)
    .filter(isNode)
    .filter(({ type, kind }) => type === 'VariableDeclaration' && kind !== 'const')
    .map(() => 'holds module-level mutable state (let or var)')
}

function relativeWithoutExtension(file: SourceFile): readonly string[] {
  return importsOf(file)
    .filter(({ relative, target }) => relative && !/\.(?:ts|json)$/.test(target))
    .map(({ target }) => `imports ${target} without its extension`)
}
