import { globSync, readFileSync, statSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { PAGE_LIBRARIES } from '../../src/page/serving/page-files.ts'
import { bundlePrograms, launched } from './bundle.ts'
import { type Compiled, NODE } from './compile-cache.ts'
import { FileTree, fileAt, licence, NONROOT } from './file-tree.ts'
import { licenceFile, type NpmPackage, packagesOf, requiredFiles } from './packages.ts'
import type { Recipe } from './recipe.ts'

const AT = 'opt/node-proxy'
/** The module that serves the page, whose files a browser loads. */
const PAGE = 'src/page/serving/page-files.ts'
const PAGE_FILES = 'src/page/files'

/** The programs of an image, and the npm packages of which something is in it. */
interface Application {
  readonly tree: FileTree
  readonly npm: readonly NpmPackage[]
  readonly modules: Compiled
}

/** What the programs of an image can come to load, as the bundler follows their imports, and how they are started. */
export async function applicationOf(
  { programs, dataFolder }: Recipe,
  root: string,
): Promise<Application> {
  const names = programs.map(({ name }) => name)
  const bundle = await bundlePrograms(root, names)
  const tree = new FileTree()
  for (const [path, code] of bundle.files) tree.addText(`${AT}/${path}`, code)
  const kept = new Set(requiredFiles(root, bundle.required))
  for (const path of bundle.beside) for (const file of filesAt(root, path)) kept.add(file)
  if (bundle.modules.has(PAGE)) {
    for (const file of pageLibraries(root)) kept.add(file)
    await tree.addFolder(`${AT}/${PAGE_FILES}`, join(root, PAGE_FILES), isServed)
  }
  for (const path of kept) tree.add(`${AT}/${path}`, await fileAt(join(root, path)))
  const npm = packagesOf(root, [...bundle.modules, ...kept])
  for (const one of npm) {
    const path = licenceFile(root, one)
    if (path !== undefined)
      tree.add(
        `${AT}/licenses/${one.name}@${one.version}.gz`,
        licence(readFileSync(join(root, path))),
      )
  }
  tree.add(`${AT}/LICENSE`, await fileAt(join(root, 'LICENSE')))
  tree.addText(`${AT}/package.json`, manifestOf(root))
  for (const name of names) addLauncher(tree, root, name)
  if (dataFolder !== undefined) {
    tree.add(dataFolder, { kind: 'folder', mode: 0o700, owner: NONROOT })
  }
  const main = names.map((name) => `lib/${name}.js`)
  const all = [...bundle.files.keys()].sort()
  const others = all.filter((path) => !bundle.starting.includes(path))
  const starting = bundle.starting.filter((path) => !main.includes(path)).toSorted()
  const placed = (paths: readonly string[]) => paths.map((path) => `${AT}/${path}`)
  const modules = {
    programs: placed(main),
    starting: placed(starting),
    others: placed(others),
  }
  return { tree, npm, modules }
}

/** Whether a browser loads it. */
function isServed(path: string): boolean {
  return /\.(?:html|css|svg|ts)$/.test(path) && !path.endsWith('.test.ts')
}

/** A script whose interpreter is Node, because there is no shell. */
function addLauncher(tree: FileTree, root: string, name: string): void {
  const { flags } = launched(root, name)
  // The kernel passes the rest of the first line as one argument.
  if (flags.length > 1) throw new Error(`bin/${name}: more than one flag of V8`)
  const script = `${[`#!/${NODE}`, ...flags].join(' ')}\nimport '../lib/${name}.js'\n`
  tree.addText(`${AT}/bin/${name}`, script, 0o755)
  tree.add(`usr/local/bin/${name}`, { kind: 'link', target: `../../../${AT}/bin/${name}` })
}

function manifestOf(root: string): string {
  const text = readFileSync(join(root, 'package.json'), 'utf8')
  const { name, version, license, type } = JSON.parse(text) as Readonly<Record<string, string>>
  return `${JSON.stringify({ name, version, license, type })}\n`
}

/** A file, or all files of a folder, from the root of the checkout; nothing if there is none. */
function filesAt(root: string, path: string): readonly string[] {
  const found = statSync(join(root, path), { throwIfNoEntry: false })
  if (found === undefined) return []
  return found.isFile() ? [path] : globSync(`${path}/**/*.*`, { cwd: root })
}

/** What browsers load of npm packages. */
function pageLibraries(root: string): readonly string[] {
  return Object.values(PAGE_LIBRARIES).flatMap((name) => {
    const path = fileURLToPath(import.meta.resolve(name))
    const manifest = findPackageJSON(pathToFileURL(path))
    return [path, ...(manifest === undefined ? [] : [manifest])].map((one) => relative(root, one))
  })
}
