import { posix } from 'node:path'
import { moduleOf } from './import-table.ts'
import { importsOf } from './module-import.ts'
import { isTest, type SourceFile } from './source-file.ts'
import { parse, type SyntaxNode } from './syntax.ts'

/** An import of one production file by another, types included. */
export interface Edge {
  readonly from: string
  readonly to: string
}

/** The production files of `src` and what they import of each other. */
export interface Graph {
  readonly files: readonly SourceFile[]
  readonly edges: readonly Edge[]
  /** Files beside production code that tests alone import. */
  readonly testOnly: readonly string[]
}

/** Reads the graph of `src` from its sources; `others` (tests, benchmarks) import it from outside. */
export function graphOf(sources: readonly SourceFile[], others: readonly SourceFile[] = []): Graph {
  const edges = importEdges(sources)
  const testOnly = testOnlyFiles(sources, [...edges, ...others.flatMap(edgesOf)])
  const left = (path: string): boolean => !isTest(path) && !testOnly.has(path)
  return {
    files: sources.filter(({ path }) => left(path)),
    edges: edges.filter(({ from, to }) => left(from) && left(to)),
    testOnly: [...testOnly].toSorted(),
  }
}

/** Every import of one of these files by another, tests included. */
export function importEdges(sources: readonly SourceFile[]): readonly Edge[] {
  const paths = new Set(sources.map(({ path }) => path))
  return sources.flatMap(edgesOf).filter(({ from, to }) => paths.has(to) && from !== to)
}

function edgesOf(file: SourceFile): readonly Edge[] {
  const targets = importsOf(file).flatMap(({ relative, target }) => (relative ? [target] : []))
  return [...new Set(targets)].map((to) => ({ from: file.path, to }))
}

/** Files that start a program or a thread are named in a text, not imported. */
const STARTED = /'((?:\.{1,2}\/)*[\w./-]+\.ts)'/g

/** What only tests import, and only what is test-only: the largest such set. */
function testOnlyFiles(
  sources: readonly SourceFile[],
  edges: readonly Edge[],
): ReadonlySet<string> {
  const production = sources.filter(({ path }) => !isTest(path) && !path.includes('/testing/'))
  const started = new Set(production.flatMap(startedBy))
  const importers = new Map<string, string[]>()
  for (const { from, to } of edges) importers.set(to, [...(importers.get(to) ?? []), from])
  const needed = production
    .map(({ path }) => path)
    .filter((path) => !importers.has(path) || started.has(path) || path.endsWith('/main.ts'))
  const targets = Map.groupBy(edges, ({ from }) => from)
  const live = new Set(needed)
  for (const path of live) for (const { to } of targets.get(path) ?? []) live.add(to)
  return new Set(sources.map(({ path }) => path).filter((path) => !isTest(path) && !live.has(path)))
}

function startedBy({ path, text }: SourceFile): readonly string[] {
  return [...text.matchAll(STARTED)].flatMap(([, name = '']) => [
    posix.join(posix.dirname(path), name),
    name,
  ])
}

/** Circles of imports: the groups of two or more files (or folders) that reach each other. */
export function circles(edges: readonly Edge[]): readonly (readonly string[])[] {
  const targets = Map.groupBy(edges, ({ from }) => from)
  const found = new Map<string, readonly string[]>()
  const names = [...new Set(edges.flatMap(({ from, to }) => [from, to]))].toSorted()
  const reach = new Map(
    leftInCircles(edges, names).map((name) => [name, reachedFrom(name, targets)]),
  )
  for (const name of reach.keys()) {
    if (reach.get(name)?.has(name) !== true) continue
    const circle = [...reach.keys()].filter(
      (other) => reach.get(name)?.has(other) && reach.get(other)?.has(name),
    )
    found.set(circle.join(' '), circle)
  }
  return [...found.values()]
}

/** Without what nothing imports, or what imports nothing, again and again. */
function leftInCircles(edges: readonly Edge[], names: readonly string[]): readonly string[] {
  const from = new Set(edges.map((edge) => edge.from))
  const to = new Set(edges.map((edge) => edge.to))
  const left = names.filter((name) => from.has(name) && to.has(name))
  if (left.length === names.length) return left
  const kept = new Set(left)
  return leftInCircles(
    edges.filter((edge) => kept.has(edge.from) && kept.has(edge.to)),
    left,
  )
}

function reachedFrom(
  start: string,
  targets: ReadonlyMap<string, readonly Edge[]>,
): ReadonlySet<string> {
  const reached = new Set<string>()
  const queue = [start]
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    for (const { to } of targets.get(name) ?? []) {
      if (reached.has(to)) continue
      reached.add(to)
      queue.push(to)
    }
  }
  return reached
}

/** An import that leaves its folder and stays in its module, as folders. */
interface Crossing extends Edge {
  readonly edge: Edge
}

function crossings(edges: readonly Edge[]): readonly Crossing[] {
  return edges
    .filter(({ from, to }) => moduleOf(from) === moduleOf(to))
    .map((edge) => ({ from: posix.dirname(edge.from), to: posix.dirname(edge.to), edge }))
    .filter(({ from, to }) => from !== to)
}

/** Pairs of folders of one module that import each other. */
export function mutualFolders(edges: readonly Edge[]): readonly string[] {
  const pairs = new Set(crossings(edges).map(({ from, to }) => `${from} ${to}`))
  return [...pairs]
    .map((pair) => pair.split(' '))
    .filter(([from = '', to = '']) => from < to && pairs.has(`${to} ${from}`))
    .map((pair) => pair.join(' ↔ '))
    .toSorted()
}

/**
 * Imports inside a module that run against its direction. Where the folders of a module form no
 * circle there is none. In a circle the direction is that in which more imports run: folders are
 * ordered by how many more imports they make than they receive.
 */
export function upwardImports(edges: readonly Edge[]): readonly Edge[] {
  const all = crossings(edges)
  return circles(all).flatMap((folders) => {
    const inside = all.filter(({ from, to }) => folders.includes(from) && folders.includes(to))
    const rank = rankOf(folders, inside)
    return inside
      .filter(({ from, to }) => (rank.get(from) ?? 0) > (rank.get(to) ?? 0))
      .map(({ edge }) => edge)
  })
}

function rankOf(folders: readonly string[], inside: readonly Edge[]): ReadonlyMap<string, number> {
  const rank = new Map<string, number>()
  let left = [...folders]
  while (left.length > 0) {
    const balance = (folder: string): number =>
      inside.reduce((sum, { from, to }) => {
        if (!left.includes(from) || !left.includes(to)) return sum
        return sum + Number(from === folder) - Number(to === folder)
      }, 0)
    const top = left.reduce((best, folder) => (balance(folder) > balance(best) ? folder : best))
    rank.set(top, rank.size)
    left = left.filter((folder) => folder !== top)
  }
  return rank
}

/**
 * Files of at most so many lines with one importer, which lies beside them: each costs a change of file and a header
 * of imports, and hides nothing.
 */
export function smallPieces(
  { files, edges }: Graph,
  { maxLines }: { readonly maxLines: number },
): readonly string[] {
  const importers = Map.groupBy(edges, ({ to }) => to)
  return files
    .filter(({ path, text }) => {
      const [only, ...more] = importers.get(path) ?? []
      if (only === undefined || more.length > 0) return false
      return posix.dirname(only.from) === posix.dirname(path) && linesOf(text) <= maxLines
    })
    .map(({ path }) => path)
}

/** Programs that are imported: files with statements of their own, which run at the import. */
export function importedPrograms(sources: readonly SourceFile[]): readonly string[] {
  const imported = new Set(sources.flatMap(edgesOf).map(({ to }) => to))
  return sources
    .filter((file) => imported.has(file.path) && !isTest(file.path) && runsAtImport(file))
    .map(({ path }) => path)
}

function runsAtImport(file: SourceFile): boolean {
  const body = parse(file)['body']
  return Array.isArray(body) && body.some(({ type }: SyntaxNode) => !type.endsWith('Declaration'))
}

/**
 * What modules use of each other: names that cross a border, each once for a module that takes it. Leaves that belong
 * to no domain (`lib`) and what generators wrote do not count.
 */
export function borderNames(sources: readonly SourceFile[]): number {
  const crossing = sources
    .filter(({ path }) => !isTest(path) && !path.includes('/testing/'))
    .flatMap(importsOf)
    .filter(({ from, target, relative }) => relative && moduleOf(from) !== moduleOf(target))
    .filter(({ target }) => !/^src\/lib\/|\/generated\//.test(target))
  return new Set(
    crossing.flatMap(({ from, target, names }) =>
      names.map((name) => `${moduleOf(from)} ${target} ${name}`),
    ),
  ).size
}

/** Lines of a file that ends with a newline. */
export function linesOf(text: string): number {
  return text.split('\n').length - 1
}

/** How many production files lie flat in each folder, most first. */
export function filesPerFolder({ files }: Graph): ReadonlyMap<string, number> {
  const folders = Map.groupBy(files, ({ path }) => posix.dirname(path))
  const counts = [...folders].map(([folder, { length }]) => [folder, length] as const)
  return new Map(counts.toSorted((a, b) => b[1] - a[1]))
}

/** Test-only files that do not lie in a folder `testing`. */
export function strayTestFiles({ testOnly }: Graph): readonly string[] {
  return testOnly.filter((path) => !path.includes('/testing/'))
}
