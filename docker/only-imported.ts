import {
  existsSync,
  globSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseSync } from 'vite'

/**
 * Leaves of a checkout what its programs can come to load, and removes the rest:
 *
 *     scripts/node docker/only-imported.ts bin/node-proxy bin/orch-dns
 *
 * A file stays when one that stays imports it (statically, dynamically or by `require`), or names it beside
 * `import.meta`: a worker, a folder of files that are served. A package stays when a file that stays names it in an
 * import or as a text, with the packages that it depends on by the lock file. Types are erased and load nothing.
 */
const root = process.cwd()

/** What packages bring beside the code that runs. */
const UNUSED_IN_PACKAGES = [
  'node_modules/{.bin,@types}',
  'node_modules/node-linux-*/{include,share,CHANGELOG.md,README.md}',
  'node_modules/**/*.{map,d.ts,d.mts,d.cts}',
  'node_modules/**/{test,tests,bench,benchmarks,benchmark,docs,example,examples}',
]

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly dependencies?: Readonly<Record<string, string>>
        readonly optionalDependencies?: Readonly<Record<string, string>>
      }
    >
  >
}

interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as Lock
const files = filesOf(process.argv.slice(2).map(programOf))
const kept = packagesOf(files)
for (const path of globSync('src/**/*', { cwd: root })) {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() && !files.has(path)) rmSync(path)
}
for (const path of Object.keys(packages)) {
  if (path !== '' && !kept.has(path)) rmSync(path, { recursive: true, force: true })
}
for (const path of globSync(UNUSED_IN_PACKAGES, { cwd: root })) {
  rmSync(path, { recursive: true, force: true })
}
for (const path of globSync(['src/**/', 'node_modules/@*/'], { cwd: root }).toReversed()) {
  if (existsSync(path) && readdirSync(path).length === 0) rmdirSync(path)
}

/** The main file that a launcher starts. */
function programOf(launcher: string): string {
  const [main] = /src\/[\w./-]+\/main\.ts/.exec(readFileSync(launcher, 'utf8')) ?? []
  if (main === undefined) throw new Error(`${launcher} starts no src/…/main.ts`)
  return main
}

/** All files of `src` that these lead to, with themselves. */
function filesOf(programs: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting = [...programs]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    found.add(path)
    if (path.endsWith('.ts')) waiting.push(...referencesOf(path).files)
  }
  return found
}

/** Folders of the packages that these files name, and of all that those depend on. */
function packagesOf(paths: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>()
  const { optionalDependencies = {} } = packages[''] ?? {}
  const names = new Set(Object.keys(optionalDependencies))
  for (const path of paths) {
    if (path.endsWith('.ts')) for (const name of referencesOf(path).packages) names.add(name)
  }
  const waiting = [...names].map((name) => `node_modules/${name}`)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    found.add(path)
    const { dependencies = {}, optionalDependencies: optional = {} } = packages[path] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optional })) {
      const at = installedFor(path, name)
      if (at !== undefined) waiting.push(at)
    }
  }
  return found
}

/** Where a package that depends on another finds it: in its own node_modules, or in those around it. */
function installedFor(path: string, name: string): string | undefined {
  const around = path.split('/node_modules/')
  for (let depth = around.length; depth >= 0; depth--) {
    const at = [...around.slice(0, depth), name].join('/node_modules/')
    const place = depth === 0 ? `node_modules/${name}` : at
    if (packages[place] !== undefined) return place
  }
  return undefined
}

interface References {
  readonly files: readonly string[]
  readonly packages: readonly string[]
}

function referencesOf(path: string): References {
  const { program, errors } = parseSync(path, readFileSync(path, 'utf8'))
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`)
  const found = { files: new Set<string>(), packages: new Set<string>() }
  for (const node of nodesOf(program as unknown as Node)) {
    if (node.type === 'Literal' && typeof node['value'] === 'string') {
      note(found, path, node['value'])
    }
  }
  return { files: [...found.files], packages: [...found.packages] }
}

/** Whether `import` or `export` takes types alone. */
function isOfTypes(node: Node): boolean {
  if (node['importKind'] === 'type' || node['exportKind'] === 'type') return true
  const specifiers = (node['specifiers'] ?? []) as readonly Node[]
  const kind = node.type === 'ImportDeclaration' ? 'importKind' : 'exportKind'
  return specifiers.length > 0 && specifiers.every((one) => one[kind] === 'type')
}

/** A text that is the path of a file or folder of `src`, seen from the file, or the name of a package. */
function note(
  found: { readonly files: Set<string>; readonly packages: Set<string> },
  from: string,
  text: string,
): void {
  if (/^\.{0,2}[\w./-]+$/.test(text) && /[./]/.test(text)) {
    const path = relative(root, join(root, dirname(from), text))
    if (path.startsWith('src/') && existsSync(path)) {
      const isFolder = statSync(path).isDirectory()
      const below = isFolder ? globSync(`${path}/**/*.*`).filter(isServed) : [path]
      for (const one of below) found.files.add(one)
    }
  }
  const [, name] = /^((?:@[\w.-]+\/)?[\w.-]+)(?:\/|$)/.exec(text) ?? []
  if (name !== undefined && packages[`node_modules/${name}`] !== undefined) found.packages.add(name)
}

function isServed(path: string): boolean {
  return !path.endsWith('.test.ts') && !path.includes('/testing/')
}

/** Every node of what is left when types are erased. */
function* nodesOf(node: Node): Generator<Node> {
  if (isOfTypes(node)) return
  yield node
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (isNode(child) && !child.type.startsWith('TS')) yield* nodesOf(child)
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}
