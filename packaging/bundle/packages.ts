import { existsSync, globSync, readFileSync } from 'node:fs'
import { createRequire, findPackageJSON, isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

/** An npm package as the lock file has it. */
export interface NpmPackage {
  /** Its folder, from the root of the checkout: `node_modules/undici`. */
  readonly folder: string
  readonly name: string
  readonly version: string
  readonly license: string
  /** Subresource Integrity of its archive. */
  readonly integrity: string
}

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      { readonly version?: string; readonly license?: string; readonly integrity?: string }
    >
  >
}

const REQUIRE = /\brequire\(\s*["']([^"']+)["']\s*\)/g

/**
 * The files that modules of CommonJS require, with themselves, the package.json of their packages, and native code for
 * a processor (`process.arch`); from the root of the checkout.
 */
export function requiredFiles(
  root: string,
  names: Iterable<string>,
  processor: string,
): ReadonlySet<string> {
  const found = new Set<string>()
  const fromRoot = createRequire(join(root, 'package.json'))
  const waiting = [...names].map((name) => fromRoot.resolve(name))
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const at = relative(root, path)
    if (found.has(at)) continue
    found.add(at)
    const manifest = findPackageJSON(pathToFileURL(path))
    if (manifest !== undefined) found.add(relative(root, manifest))
    for (const file of nativeFiles(manifest, processor)) found.add(relative(root, file))
    if (!path.endsWith('.js')) continue
    const from = createRequire(path)
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(REQUIRE)) {
      if (!isBuiltin(name)) waiting.push(...resolved(from, name))
    }
  }
  return found
}

/** Code compiled for a processor, which node-gyp-build looks for by name. */
function nativeFiles(manifest: string | undefined, processor: string): readonly string[] {
  const folder = join(dirname(manifest ?? ''), 'prebuilds', `linux-${processor}`)
  return existsSync(folder)
    ? globSync('*.node', { cwd: folder }).map((name) => join(folder, name))
    : []
}

/** Nothing for an optional package that is not installed. */
function resolved(from: NodeJS.Require, name: string): readonly string[] {
  try {
    return [from.resolve(name)]
  } catch {
    return []
  }
}

/** The packages that these files belong to, by the lock file. */
export function packagesOf(root: string, files: Iterable<string>): readonly NpmPackage[] {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock
  const folders = new Set<string>()
  for (const file of files) {
    const [folder] = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []
    if (folder !== undefined) folders.add(folder)
  }
  return [...folders].sort().map((folder) => {
    const { version = '', license = 'NOASSERTION', integrity = '' } = packages[folder] ?? {}
    if (version === '') throw new Error(`package-lock.json does not have ${folder}: run npm ci`)
    const name = folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return { folder, name, version, license, integrity }
  })
}

/** The file with a package's licence, from the root of the checkout; undefined where it has none. */
export function licenceFile(root: string, { folder }: NpmPackage): string | undefined {
  const [name] = globSync('{LICEN[CS]E,licen[cs]e,LICEN[CS]E.*,licen[cs]e.*}', {
    cwd: join(root, folder),
  }).sort()
  return name === undefined ? undefined : join(folder, name)
}
