import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { type OutputChunk, type Plugin, rolldown } from 'rolldown'
import { programOf } from '../checkout.ts'

/** The folder with the bundle; all paths are from the folder that it is installed in. */
const FOLDER = 'lib'
/** Packages with native code, which stay as they are. */
const AS_THEY_ARE = ['netlink']

const NEW_FILE = /new URL\('((?:\.{1,2}\/)?[\w/-]+\.ts)', import\.meta\.url\)/g
/** A file or folder beside a module of CommonJS. */
const BESIDE = /\b__dirname(?:, ["']([^"']+)["']\)|\}\/([^`]+)`)/g
const REQUIRED = /\brequire\('([^']+)'\)/g

/** A program's code in few files, and what it needs beside them. */
export interface Bundle {
  /** By path. */
  readonly files: ReadonlyMap<string, string>
  /** Paths of files that run as soon as they are loaded: programs and threads. */
  readonly starting: readonly string[]
  /** Files of `src` and `node_modules` that went into it, from the root of the checkout. */
  readonly modules: ReadonlySet<string>
  /** Files and folders that its packages read, from the root of the checkout. */
  readonly beside: ReadonlySet<string>
  /** What it requires of packages that stay as they are: `netlink/dist/raw.js`. */
  readonly required: ReadonlySet<string>
}

/** The main file that a launcher starts, and the flags of V8 with which it does. */
export function launched(
  root: string,
  program: string,
): { main: string; flags: readonly string[] } {
  const main = programOf(root, `bin/${program}`)
  const launcher = readFileSync(join(root, 'bin', program), 'utf8')
  const flags = launcher.match(/--max-semi-space-size=\d+/g) ?? []
  return { main, flags: [...new Set(flags)] }
}

/** Joins the modules that programs with launchers can come to load. */
export function bundlePrograms(root: string, programs: readonly string[]): Promise<Bundle> {
  return bundleMains(
    root,
    Object.fromEntries(programs.map((name) => [name, launched(root, name).main])),
  )
}

/**
 * Joins the modules that main files, by the names of what starts them, can come to load, without their types: those
 * imported when a program starts, and in files of their own those imported later. Names are kept, so that a stack trace
 * can be read.
 */
export async function bundleMains(
  root: string,
  input: Readonly<Record<string, string>>,
): Promise<Bundle> {
  const found: Found = { required: new Set(), beside: new Set(), threads: new Map() }
  const build = await rolldown({
    cwd: root,
    input: { ...input },
    platform: 'node',
    external: (name) => {
      if (isBuiltin(name)) return true
      const isKept = AS_THEY_ARE.some((one) => name === one || name.startsWith(`${one}/`))
      if (isKept) found.required.add(name)
      return isKept
    },
    plugins: [placesOf(root, found)],
    logLevel: 'silent',
  })
  const { output } = await build.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    keepNames: true,

    comments: { legal: true, annotation: false, jsdoc: false },
  })
  await build.close()
  const chunks = output.filter((one): one is OutputChunk => one.type === 'chunk')
  return {
    files: new Map(chunks.map(({ fileName, code }) => [`${FOLDER}/${fileName}`, inAscii(code)])),
    starting: chunks
      .filter(({ isEntry, moduleIds }) => isEntry || moduleIds.some(isStarting))
      .map(({ fileName }) => `${FOLDER}/${fileName}`),
    modules: new Set(chunks.flatMap(({ moduleIds }) => moduleIds.map((id) => pathOf(root, id)))),
    required: found.required,
    beside: found.beside,
  }
}

/**
 * The same code in ASCII. V8 keeps two bytes for each character of a source that has one beyond Latin-1, even in a comment:
 * an ellipsis would cost the memory of the file once more.
 */
function inAscii(code: string): string {
  return code.replace(/\\[\0-\x7f]|\\?[^\0-\x7f]/g, (found) => {
    const unit = found.charCodeAt(found.length - 1)
    return unit <= 0x7f ? found : `\\u${unit.toString(16).padStart(4, '0')}`
  })
}

/** What is learnt of the modules on the way. */
interface Found {
  readonly required: Set<string>
  readonly beside: Set<string>
  /** Names of the files of the bundle, by the path of a module that is started. */
  readonly threads: Map<string, string>
}

/**
 * Keeps the places that modules of `src` name by their own: a file beside it that is started becomes an entry of the
 * bundle, and every other place is told from the module's own, which is what it would be in a checkout.
 */
function placesOf(root: string, found: Found): Plugin {
  return {
    name: 'places',
    transform(code, id) {
      const path = pathOf(root, id)
      if (path.startsWith('node_modules/')) return placedPackage(code, path, found)
      if (!path.startsWith('src/') || !code.includes('import.meta')) return undefined
      const parts = withImports(code)
        .split(NEW_FILE)
        .map((part, index) => {
          if (index % 2 === 0) return placed(part, path)
          const thread = join(root, dirname(path), part)
          const name = relative(join(root, 'src'), thread)
            .replaceAll('/', '-')
            .replace(/\.ts$/, '.js')
          if (!found.threads.has(thread)) {
            found.threads.set(thread, name)
            this.emitFile({ type: 'chunk', id: thread, fileName: name })
          }
          return `new URL('./${name}', import.meta.url)`
        })
      return { code: parts.join('') }
    },
  }
}

/** A module of `src` that requires parts of a package, which is the same as importing them. */
function withImports(code: string): string {
  if (!code.includes('createRequire(import.meta.url)')) return code
  const imports: string[] = []
  const body = code
    .replace(/^const require = createRequire\(import\.meta\.url\)$/m, '')
    .replace(REQUIRED, (_, name: string) => {
      imports.push(`import required${imports.length} from '${name}'`)
      return `required${imports.length - 1}`
    })
  return [...imports, body].join('\n')
}

/** A module of a package, which has files of its own that it reads. */
function placedPackage(code: string, path: string, { beside }: Found) {
  if (!code.includes('__dirname')) return undefined
  for (const [, joined, written] of code.matchAll(BESIDE)) {
    beside.add(join(dirname(path), joined ?? written ?? ''))
  }
  return { code: code.replace(/\b__dirname\b/g, `(${folderOf(path)})`) }
}

function placed(code: string, path: string): string {
  const [other] = /import\.meta\.(?!url\b|dirname\b|resolve\b)\w+/.exec(code) ?? []
  if (other !== undefined) throw new Error(`${path}: ${other} is another one in the bundle`)
  return code
    .replace(/import\.meta\.url\b/g, `new URL('../${path}', import.meta.url).href`)
    .replace(/import\.meta\.dirname\b/g, `(${folderOf(path)})`)
}

/** The folder of a module, as the bundle sees it. */
function folderOf(path: string): string {
  return `import.meta.dirname + '/../${dirname(path)}'`
}

function isStarting(id: string): boolean {
  return /^(?:.*-)?(?:main|worker)\.ts$/.test(basename(id))
}

function pathOf(root: string, id: string): string {
  return relative(root, id.replace(/^\0/, '').replace(/\?.*$/, ''))
}
