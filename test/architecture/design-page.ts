import { importsOf } from './module-import.ts'
import { isTest, type SourceFile } from './source-file.ts'
import { isNode, nameOf, parse, type SyntaxNode } from './syntax.ts'

const HEADING = '## Where is it decided?'
const REFERENCE = /`(src\/[\w./-]+\.ts)`: `(\w+)`/g
const PATH = /`src\/[\w./-]+`/g

/** What is wrong with the rows of "Where is it decided?": a file or a symbol that does not exist. */
export function designPageFaults(page: string, sources: readonly SourceFile[]): readonly string[] {
  const rows = rowsOf(page)
  if (rows.length === 0) return [`no rows under "${HEADING}"`]
  return rowFaults(rows, sources)
}

/**
 * What is wrong with the walks of a page: rows as above, and files that imports do not reach from the first file of
 * their walk, be it by types alone or when they are needed.
 */
export function walkFaults(page: string, sources: readonly SourceFile[]): readonly string[] {
  const walks = page.split(/^## /m).slice(1)
  if (walks.length === 0) return ['no walks']
  const importsByPath = new Map(
    sources
      .filter(({ path }) => !isTest(path) && !path.includes('/testing/'))
      .map((file) => [file.path, importsOf(file).map(({ target }) => target)]),
  )
  return walks.flatMap((walk) => {
    const rows = walk.split('\n').filter((line) => /^\| .*`src\//.test(line))
    const paths = [...walk.matchAll(REFERENCE)].map(([, path = '']) => path)
    const reached = reachedFrom(paths[0] ?? '', importsByPath)
    const lost = paths.filter((path) => !reached.has(path))
    return [
      ...(rows.length === 0 ? [`no rows: ${walk.split('\n', 1).join('')}`] : []),
      ...rowFaults(rows, sources),
      ...lost.map((path) => `${path} is not reached from ${paths[0]}`),
    ]
  })
}

function reachedFrom(
  first: string,
  importsByPath: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const reached = new Set([first])
  for (const path of reached) {
    for (const target of importsByPath.get(path) ?? []) reached.add(target)
  }
  return reached
}

function rowFaults(rows: readonly string[], sources: readonly SourceFile[]): readonly string[] {
  const byPath = new Map(sources.map((file) => [file.path, file]))
  return rows.flatMap((row) => {
    const references = [...row.matchAll(REFERENCE)]
    const paths = row.match(PATH) ?? []
    const faults = references.flatMap(([, path = '', symbol = '']) => {
      const file = byPath.get(path)
      if (file === undefined) return [`${path} does not exist`]
      return declaredIn(file).includes(symbol) ? [] : [`${path} declares no ${symbol}`]
    })
    if (references.length === 0) faults.push(`names no file with a symbol: ${row}`)
    if (paths.length > references.length) faults.push(`names a path without a symbol: ${row}`)
    return faults
  })
}

function rowsOf(page: string): readonly string[] {
  const [, section = ''] = page.split(`${HEADING}\n`)
  const [table = ''] = section.split(/^## /m)
  return table.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| question'))
}

/** The names that a file declares for itself or for others. */
function declaredIn(file: SourceFile): readonly string[] {
  return nodes(parse(file)['body']).flatMap((statement) => {
    const declaration = isNode(statement['declaration']) ? statement['declaration'] : statement
    const declared = [declaration, ...nodes(declaration['declarations'])]
    return declared.flatMap((node) => nameOf(node['id']) ?? [])
  })
}

function nodes(value: unknown): readonly SyntaxNode[] {
  return Array.isArray(value) ? value.filter(isNode) : []
}
