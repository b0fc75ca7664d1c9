import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  globSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { CACHE, COMPILE_FLAGS } from './bundle/compile.ts'
import type { Checkout } from './checkout.ts'
import { ownProcessor, PROCESSORS } from './node-program.ts'
import { filesIn, type ProgramTree, writeProgramTree } from './program-tree.ts'
import { NODE_DEPENDS, type Program } from './programs.ts'

/** Where the completion of each shell is looked for, and how orchctl calls the shell. */
const COMPLETIONS = {
  bash: 'usr/share/bash-completion/completions/orchctl',
  zsh: 'usr/share/zsh/vendor-completions/_orchctl',
  fish: 'usr/share/fish/vendor_completions.d/orchctl.fish',
} as const
const SCRIPTS = ['postinst', 'prerm', 'postrm'] as const
const TEMPLATES = join(import.meta.dirname, 'debian')

/** What dpkg-deb compresses with. */
export const COMPRESSIONS = ['xz', 'zstd', 'gzip', 'none'] as const

export interface DebianOptions {
  readonly compression: (typeof COMPRESSIONS)[number]
  /** The folder for the package. */
  readonly output: string
  /** NAME <ADDRESS>: who answers for the package. */
  readonly maintainer: string
}

/** Writes the Debian package of a program; equal inputs give equal bytes. @returns its path */
export async function buildDebianPackage(
  checkout: Checkout,
  program: Program,
  options: DebianOptions,
): Promise<string> {
  const scratch = mkdtempSync(join(tmpdir(), 'np-package-'))
  try {
    const staging = join(scratch, program.name)
    const tree = await writeProgramTree(
      checkout,
      program,
      join(staging, 'usr/lib', program.name, 'package'),
    )
    writeSystemFiles(checkout, program, staging)
    normalise(staging, checkout.epoch)
    writeControl({ checkout, program, tree, staging, maintainer: options.maintainer })
    normalise(staging, checkout.epoch)
    return pack(staging, checkout, program, options)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The version as Debian orders it: a pre-release comes before its release. */
export function debianVersion(version: string): string {
  return version.replace('-', '~')
}

/** A unit of `config/systemd`, with the places of a package. What a package compiles when it is installed needs no cache. */
export function packagedUnit(text: string, name: string): string {
  const packaged = text
    .replaceAll('/opt/node-proxy/bin/', '/usr/bin/')
    .replaceAll('/opt/node-proxy/docs/', `/usr/share/doc/${name}/`)
    .replaceAll(/^(?:CacheDirectory|Environment=NODE_COMPILE_CACHE)=.*\n/gm, '')
  if (packaged.includes('/opt/')) throw new Error(`a unit of ${name} names a file below /opt`)
  return packaged
}

/** Everything outside of `/usr/lib/NAME`. */
function writeSystemFiles({ root }: Checkout, program: Program, staging: string): void {
  const { name, units, configuration, examples } = program
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(staging, path)), { recursive: true })
    writeFileSync(join(staging, path), text)
  }
  mkdirSync(join(staging, 'usr/bin'), { recursive: true })
  symlinkSync(`../lib/${name}/current/bin/${name}`, join(staging, 'usr/bin', name))
  for (const unit of units) {
    const text = readFileSync(join(root, 'config/systemd', unit), 'utf8')
    put(`usr/lib/systemd/system/${unit}`, packagedUnit(text, name))
  }
  for (const [path, source] of Object.entries(configuration)) {
    put(`etc/${path}`, readFileSync(join(root, 'config', source), 'utf8'))
  }
  const docs = `usr/share/doc/${name}`
  for (const path of examples) {
    put(`${docs}/examples/${basename(path)}`, readFileSync(join(root, 'config', path), 'utf8'))
  }
  put(`${docs}/copyright`, readFileSync(join(TEMPLATES, 'copyright'), 'utf8'))
  cpSync(join(root, 'CHANGELOG.md'), join(staging, docs, 'CHANGELOG.md'))
  for (const page of globSync('docs/operate/*.md', { cwd: root })) {
    cpSync(join(root, page), join(staging, docs, page.slice('docs/'.length)))
  }
  if (name === 'orchctl') {
    const tree = join(staging, 'usr/lib', name, 'package')
    for (const [shell, path] of Object.entries(COMPLETIONS)) {
      const words = [join(tree, `lib/${name}.js`), 'completion', shell]
      put(path, execFileSync(join(tree, 'bin/node'), words, { encoding: 'utf8' }))
    }
  }
}

interface Control {
  readonly checkout: Checkout
  readonly program: Program
  readonly tree: ProgramTree
  readonly staging: string
  readonly maintainer: string
}

/** DEBIAN/: the fields, the checksums, and the scripts that dpkg runs. */
function writeControl({ checkout, program, tree, staging, maintainer }: Control): void {
  const files = filesIn(staging)
  const folder = join(staging, 'DEBIAN')
  mkdirSync(folder)
  const fields = {
    Package: program.name,
    Version: debianVersion(checkout.version),
    Architecture: PROCESSORS[ownProcessor()],
    Maintainer: maintainer,
    'Installed-Size': String(kibibytes(staging, files)),
    Depends: [...NODE_DEPENDS, ...program.depends].join(', '),
    Recommends: program.recommends.join(', '),
    Suggests: program.suggests.join(', '),
    Section: program.section,
    Priority: 'optional',
    Description: [program.summary, ...program.description.split('\n')].join('\n '),
  }
  const lines = Object.entries(fields).filter(([, value]) => value !== '')
  writeFileSync(join(folder, 'control'), lines.map((line) => `${line.join(': ')}\n`).join(''))
  const conffiles = Object.keys(program.configuration).map((path) => `/etc/${path}\n`)
  if (conffiles.length > 0) writeFileSync(join(folder, 'conffiles'), conffiles.join(''))
  const summed = files.filter((path) => !path.startsWith('etc/') && isFile(join(staging, path)))
  const sums = summed.map((path) => `${md5(join(staging, path))}  ${path}\n`)
  writeFileSync(join(folder, 'md5sums'), sums.join(''))
  for (const script of SCRIPTS) {
    const path = join(folder, script)
    writeFileSync(path, scriptText(script, { checkout, program, tree }))
    chmodSync(path, 0o755)
  }
}

/** A maintainer script, with the values of this package. */
function scriptText(
  script: (typeof SCRIPTS)[number],
  { program, tree }: Pick<Control, 'checkout' | 'program' | 'tree'>,
): string {
  const values: Readonly<Record<string, string>> = {
    NAME: program.name,
    TREE: tree.installedAt,
    CACHE,
    FLAGS: COMPILE_FLAGS.join(' '),
    UNIT: program.units[0] ?? '',
    UNITS: program.units.join(' '),
  }
  const text = readFileSync(join(TEMPLATES, script), 'utf8')
  return text.replaceAll(/@([A-Z]+)@/g, (all, key: string) => values[key] ?? all)
}

/** Modes and times that do not depend on the machine that builds. */
function normalise(staging: string, epoch: number): void {
  const inside = readdirSync(staging, { recursive: true, encoding: 'utf8' })
  for (const path of ['.', ...inside].map((name) => join(staging, name))) {
    const stat = lstatSync(path)
    const isExecutable = stat.isDirectory() || (stat.mode & 0o100) !== 0
    if (!stat.isSymbolicLink()) chmodSync(path, isExecutable ? 0o755 : 0o644)
    lutimesSync(path, epoch, epoch)
  }
}

function pack(
  staging: string,
  { version, epoch }: Checkout,
  { name }: Program,
  { output, compression }: DebianOptions,
): string {
  mkdirSync(output, { recursive: true })
  const file = join(output, `${name}_${debianVersion(version)}_${PROCESSORS[ownProcessor()]}.deb`)
  const words = ['--root-owner-group', '--threads-max=1', `-Z${compression}`, '--build', staging]
  execFileSync('dpkg-deb', [...words, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return file
}

function isFile(path: string): boolean {
  return lstatSync(path).isFile()
}

function kibibytes(staging: string, files: readonly string[]): number {
  const sizes = files.map((path) => Math.ceil(lstatSync(join(staging, path)).size / 1024))
  return sizes.reduce((sum, size) => sum + size, 0)
}

function md5(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex')
}
