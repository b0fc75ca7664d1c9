import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, matchesGlob, relative } from 'node:path'
import { type Checkout, NODE_PACKAGE, NODE_PROGRAM, programOf } from './checkout.ts'
import { importedBy, UNUSED_IN_PACKAGES } from './imported-files.ts'
import type { Program } from './programs.ts'

/** What a program needs to run: its modules, npm packages, and Node. */
export interface ProgramTree {
  /** Differs as soon as any byte of it does. */
  readonly id: string
  /** Where an installation keeps it. */
  readonly installedAt: string
}

const COMPILE = 'compile.ts'

/** Writes the tree of a program into `folder`, which is made. */
export function writeProgramTree(
  checkout: Checkout,
  { name }: Pick<Program, 'name'>,
  folder: string,
): ProgramTree {
  const { root, version } = checkout
  const main = programOf(root, `bin/${name}`)
  const { files, packages } = importedBy(root, [main])
  for (const path of files) copy(join(root, path), join(folder, path))
  for (const path of packages) {
    if (!path.startsWith('node_modules/node-linux-')) copyPackage(root, path, folder)
  }
  copy(join(root, NODE_PROGRAM), join(folder, 'bin/node'))
  copy(join(root, NODE_PACKAGE, 'LICENSE'), join(folder, 'LICENSE.node'))
  copy(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  copy(join(import.meta.dirname, COMPILE), join(folder, COMPILE))
  const manifest = { name, version, license: 'Apache-2.0', type: 'module' }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  const options = nodeOptions(readFileSync(join(root, 'bin', name), 'utf8'), name)
  const id = `${version}-${hashOf(folder, options)}`
  const installedAt = `/usr/lib/${name}/versions/${id}`
  const launcher = join(folder, 'bin', name)
  writeFileSync(launcher, launcherText({ name, version, installedAt, options, main }))
  chmodSync(launcher, 0o755)
  return { id, installedAt }
}

/** Paths from `folder` of all files in it, in order. */
export function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted()
}

interface Launcher {
  readonly name: string
  readonly version: string
  readonly installedAt: string
  readonly options: string
  readonly main: string
}

/**
 * The program that is started. Whoever has opened it is led to the files of the same version, even if an upgrade puts
 * another one in its place before the next line is read.
 */
function launcherText({ name, version, installedAt, options, main }: Launcher): string {
  return `#!/bin/sh
# ${name} ${version}
root=${installedAt}
export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE-$root/compile-cache}"
exec "$root/bin/node" ${options} "$root/${main}" "$@"
`
}

/** The options with which the launcher of a checkout starts Node. */
function nodeOptions(launcher: string, name: string): string {
  const started = /exec "[^"]+"((?: +--[\w-]+(?:=[\w.]+)?)+) +"\$bin\/\.\.\/src\//
  const [, options] = started.exec(launcher.replaceAll(/\\\n\s*/g, ' ')) ?? []
  if (options === undefined) throw new Error(`bin/${name} does not start Node with options`)
  return options.trim()
}

/** Of a package that is in another one, only what is imported is copied, by a call of its own. */
function copyPackage(root: string, path: string, folder: string): void {
  const from = join(root, path)
  if (statSync(from, { throwIfNoEntry: false }) === undefined) return
  cpSync(from, join(folder, path), {
    recursive: true,
    filter: (source) => {
      const inside = relative(root, source)
      if (inside !== path && inside.slice(path.length).startsWith('/node_modules')) return false
      return !UNUSED_IN_PACKAGES.some((pattern) => matchesGlob(inside, pattern))
    },
  })
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to, { dereference: true })
}

function hashOf(folder: string, options: string): string {
  const hash = createHash('sha256').update(options)
  for (const path of filesIn(folder)) {
    hash.update(`\0${path}\0`).update(readFileSync(join(folder, path)))
  }
  return hash.digest('hex').slice(0, 8)
}
