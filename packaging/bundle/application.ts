import { globSync, readFileSync, statSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { PAGE_LIBRARIES } from '../../src/page/serving/page-files.ts'
import type { Checkout } from '../checkout.ts'
import { bundlePrograms } from './bundle.ts'
import { compileProgram } from './compile.ts'
import { licenceFile, type NpmPackage, packagesOf, requiredFiles } from './packages.ts'

/** The module that serves the page, whose files a browser loads. */
const PAGE = 'src/page/serving/page-files.ts'
const PAGE_FILES = 'src/page/files'

/** A file that everybody may read. */
export interface ApplicationFile {
  readonly content: Buffer
  /** 0o755 if it can be executed, otherwise 0o644. */
  readonly mode: number
}

/** What programs need to run, beside Node; paths are from the folder that it is installed in. */
export interface Application {
  /** By path. The main file of a program is `lib/NAME.js`. */
  readonly files: ReadonlyMap<string, ApplicationFile>
  /** The npm packages of which something is in it. */
  readonly npm: readonly NpmPackage[]
  /** A module for Node, started with `COMPILE_FLAGS` in that folder, which compiles the others into `CACHE` there. */
  readonly compile: string
}

/**
 * What programs, by their names in `bin`, can come to load, as the bundler follows their imports. Equal inputs give
 * equal bytes. They say that they are of the version of `checkout`, and are for the processor (`process.arch`) that is
 * given.
 * @throws Error naming a module that the bundle would change, or a package that the lock file does not have
 */
export async function applicationOf(
  { root, version }: Pick<Checkout, 'root' | 'version'>,
  names: readonly string[],
  processor: string = process.arch,
): Promise<Application> {
  const bundle = await bundlePrograms(root, names)
  const files = new Map<string, ApplicationFile>()
  const put = (path: string, content: Buffer | string) =>
    files.set(path, { content: Buffer.from(content), mode: 0o644 })
  for (const [path, code] of bundle.files) put(path, code)
  const kept = new Set(requiredFiles(root, bundle.required, processor))
  for (const path of bundle.beside) for (const file of filesAt(root, path)) kept.add(file)
  const hasPage = bundle.modules.has(PAGE)
  if (hasPage) for (const file of pageLibraries()) kept.add(file)
  for (const path of [...kept, ...(hasPage ? pageFiles(root) : [])]) {
    files.set(path, fileAt(join(root, path)))
  }
  const npm = packagesOf(root, [...bundle.modules, ...kept])
  for (const one of npm) {
    const path = licenceFile(root, one)
    if (path === undefined) continue
    const text = readFileSync(join(root, path))
    put(`licenses/${one.name}@${one.version}.gz`, gzipSync(text, { level: 9 }))
  }
  put('LICENSE', readFileSync(join(root, 'LICENSE')))
  put('package.json', manifestOf(root, version))
  const main = names.map((name) => `lib/${name}.js`)
  const compile = compileProgram({
    programs: main,
    starting: bundle.starting.filter((path) => !main.includes(path)).toSorted(),
    others: [...bundle.files.keys()].filter((path) => !bundle.starting.includes(path)).toSorted(),
  })
  return { files, npm, compile }
}

function fileAt(path: string): ApplicationFile {
  const isProgram = (statSync(path).mode & 0o111) !== 0
  return { content: readFileSync(path), mode: isProgram ? 0o755 : 0o644 }
}

function manifestOf(root: string, version: string): string {
  const text = readFileSync(join(root, 'package.json'), 'utf8')
  const { name, license, type } = JSON.parse(text) as Readonly<Record<string, string>>
  return `${JSON.stringify({ name, version, license, type })}\n`
}

/** A file, or all files of a folder, from the root of the checkout; nothing if there is none. */
function filesAt(root: string, path: string): readonly string[] {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  if (found === undefined) return []
  return found.isFile() ? [path] : globSync(`${path}/**/*.*`, { cwd: root })
}

/** What browsers load of the checkout. */
function pageFiles(root: string): readonly string[] {
  return globSync(`${PAGE_FILES}/**/*.{html,css,svg,ts}`, { cwd: root }).filter(
    (path) => !path.endsWith('.test.ts'),
  )
}

/** What browsers load of npm packages, which npm puts in the same places in every checkout. */
function pageLibraries(): readonly string[] {
  const own = join(import.meta.dirname, '../..')
  return Object.values(PAGE_LIBRARIES).flatMap((name) => {
    const path = fileURLToPath(import.meta.resolve(name))
    const manifest = findPackageJSON(pathToFileURL(path))
    return [path, ...(manifest === undefined ? [] : [manifest])].map((one) => relative(own, one))
  })
}
