import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseSync } from 'vite'

/** What programs can come to load of a checkout; paths from its root. */
export interface Imported {
  /** Files of `src`. */
  readonly files: ReadonlySet<string>
  /** Folders of packages in `node_modules`, Node's own among them. */
  readonly packages: ReadonlySet<string>
}

/** Files of packages, as globs, that no program loads. */
export const UNUSED_IN_PACKAGES = [
  'node_modules/{.bin,@types}',
  'node_modules/node-linux-*/{include,share,CHANGELOG.md,README.md}',
  'node_modules/**/*.{map,d.ts,d.mts,d.cts}',
  'node_modules/**/{test,tests,bench,benchmarks,benchmark,docs,example,examples}',
]

/** The `packages` of package-lock.json. */
type Packages = Readonly<
  Record<
    string,
    {
      readonly dependencies?: Readonly<Record<string, string>>
      readonly optionalDependencies?: Readonly<Record<string, string>>
    }
  >
>

interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

/** A checkout, and the packages of its lock file. */
interface Checkout {
  readonly root: string
  readonly packages: Packages
}

/**
 * What the programs of a checkout can come to load. `programs` are their main files.
 *
 * A file belongs to it when one that does imports it (statically, dynamically or by `require`), or names it beside
 * `import.meta`: a worker, a folder of files that are served. A package belongs to it when such a file names it in an
 * import or as a text, with the packages that it depends on by the lock file. Types are erased and load nothing.
 */
export function importedBy(root: string, programs: readonly string[]): Imported {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(lock) as { readonly packages: Packages }
  const checkout = { root, packages }
  const { files, names } = filesOf(checkout, programs)
  return { files, packages: packagesOf(checkout, names) }
}

/** All files of `src` that these lead to, with themselves, and the names of packages in them. */
function filesOf(checkout: Checkout, programs: readonly string[]) {
  const files = new Set<string>()
  const names = new Set<string>()
  const waiting = [...programs]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (files.has(path)) continue
    files.add(path)
    if (!path.endsWith('.ts')) continue
    const found = referencesOf(checkout, path)
    waiting.push(...found.files)
    for (const name of found.packages) names.add(name)
  }
  return { files, names }
}

/** Folders of Node and of the packages with these names, and of all that those depend on. */
function packagesOf({ packages }: Checkout, names: ReadonlySet<string>): ReadonlySet<string> {
  const found = new Set<string>()
  const { optionalDependencies = {} } = packages[''] ?? {}
  const waiting = [...names, ...Object.keys(optionalDependencies)].map(
    (name) => `node_modules/${name}`,
  )
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    found.add(path)
    const { dependencies = {}, optionalDependencies: optional = {} } = packages[path] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optional })) {
      const at = installedFor(packages, path, name)
      if (at !== undefined) waiting.push(at)
    }
  }
  return found
}

/** Where a package that depends on another finds it: in its own node_modules, or in those around it. */
function installedFor(packages: Packages, path: string, name: string): string | undefined {
  const around = path.split('/node_modules/')
  for (let depth = around.length; depth >= 0; depth--) {
    const at = [...around.slice(0, depth), name].join('/node_modules/')
    const place = depth === 0 ? `node_modules/${name}` : at
    if (packages[place] !== undefined) return place
  }
  return undefined
}

interface References {
  readonly files: ReadonlySet<string>
  readonly packages: ReadonlySet<string>
}

function referencesOf(checkout: Checkout, path: string): References {
  const { program, errors } = parseSync(path, readFileSync(join(checkout.root, path), 'utf8'))
  const [error] = errors
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`)
  const found = { files: new Set<string>(), packages: new Set<string>() }
  for (const node of nodesOf(program as unknown as Node)) {
    if (node.type !== 'Literal' || typeof node['value'] !== 'string') continue
    const text = node['value']
    for (const file of filesNamed(checkout, path, text)) found.files.add(file)
    const [, name] = /^((?:@[\w.-]+\/)?[\w.-]+)(?:\/|$)/.exec(text) ?? []
    const isPackage = name !== undefined && checkout.packages[`node_modules/${name}`] !== undefined
    if (isPackage) found.packages.add(name)
  }
  return found
}

/** The file of `src` whose path this is, seen from the file `from`; if it is a folder, all that is served of it. */
function filesNamed({ root }: Checkout, from: string, text: string): readonly string[] {
  // `.` and `..` alone are parts of paths and names.
  if (!/^[\w./-]+$/.test(text) || !/[./]/.test(text) || !/\w/.test(text)) return []
  const path = relative(root, join(root, dirname(from), text))
  if (!path.startsWith('src/') || !existsSync(join(root, path))) return []
  if (!statSync(join(root, path)).isDirectory()) return [path]
  return globSync(`${path}/**/*.*`, { cwd: root }).filter(isServed)
}

function isServed(path: string): boolean {
  return !path.endsWith('.test.ts') && !path.includes('/testing/')
}

/** Whether `import` or `export` takes types alone. */
function isOfTypes(node: Node): boolean {
  if (node['importKind'] === 'type' || node['exportKind'] === 'type') return true
  const specifiers = (node['specifiers'] ?? []) as readonly Node[]
  const kind = node.type === 'ImportDeclaration' ? 'importKind' : 'exportKind'
  return specifiers.length > 0 && specifiers.every((one) => one[kind] === 'type')
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
