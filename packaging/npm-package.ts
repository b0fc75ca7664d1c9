import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Checkout, programOf } from './checkout.ts'
import { importedBy } from './imported-files.ts'

const NAME = 'orchctl'
const LAUNCHER = `bin/${NAME}`
const TEMPLATE = join(import.meta.dirname, 'npm', NAME)
/** A path of a module that the compiler left as it was. */
const TYPESCRIPT_PATH = /(['"])\.{1,2}\/[\w./-]+\.ts\1/

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/**
 * Writes the npm package of orchctl, `orchctl-VERSION.tgz`. Its modules are JavaScript, because Node strips no types
 * below `node_modules`. @returns its path
 */
export function buildNpmPackage(checkout: Checkout, output: string): string {
  const { root, version } = checkout
  const main = programOf(root, LAUNCHER)
  const { files, packages } = importedBy(root, [main])
  const scratch = mkdtempSync(join(tmpdir(), 'np-npm-'))
  try {
    compile(root, [...files], scratch)
    const folder = join(scratch, NAME)
    for (const path of files) take(checkout, { path, compiled: join(scratch, 'js'), folder })
    cpSync(TEMPLATE, join(folder, LAUNCHER))
    chmodSync(join(folder, LAUNCHER), 0o755)
    cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
    cpSync(join(root, 'docs/operate/orchctl.md'), join(folder, 'README.md'))
    writeFileSync(join(folder, 'package.json'), manifestText(checkout, packages))
    mkdirSync(output, { recursive: true })
    const words = ['pack', '--ignore-scripts', '--loglevel=error', '--pack-destination', output]
    execFileSync('npm', words, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
    return join(output, `${NAME}-${version}.tgz`)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Compiles modules into `scratch/js`, with the paths that they have in the checkout. */
function compile(root: string, files: readonly string[], scratch: string): void {
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      rootDir: root,
      outDir: join(scratch, 'js'),
      typeRoots: [join(root, 'node_modules/@types')],
    },
    files: files.filter((path) => path.endsWith('.ts')).map((path) => join(root, path)),
    include: [],
  }
  const project = join(scratch, 'tsconfig.json')
  writeFileSync(project, JSON.stringify(settings))
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['--project', project], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

interface Taken {
  readonly path: string
  readonly compiled: string
  readonly folder: string
}

/** Takes a module as it was compiled, and any other file as it is. */
function take({ root }: Checkout, { path, compiled, folder }: Taken): void {
  const isModule = path.endsWith('.ts')
  const name = isModule ? path.replace(/ts$/, 'js') : path
  const from = join(isModule ? compiled : root, name)
  if (isModule && TYPESCRIPT_PATH.test(readFileSync(from, 'utf8'))) {
    throw new Error(`${path} names a file by a path that the compiler does not follow`)
  }
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  cpSync(from, join(folder, name))
}

function manifestText({ root, version }: Checkout, packages: ReadonlySet<string>): string {
  const ofCheckout = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const { dependencies, optionalDependencies } = ofCheckout
  const isUsed = ([name]: readonly [string, string]) => packages.has(`node_modules/${name}`)
  const manifest = {
    name: NAME,
    version,
    description: 'The command line of an API server that speaks the Kubernetes API.',
    license: 'Apache-2.0',
    type: 'module',
    bin: { [NAME]: LAUNCHER },
    engines: { node: '>=20' },
    os: ['!win32'],
    dependencies: Object.fromEntries(Object.entries(dependencies).filter(isUsed)),
    optionalDependencies,
  }
  return `${JSON.stringify(manifest, undefined, 2)}\n`
}
