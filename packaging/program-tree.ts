import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { applicationOf } from './bundle/application.ts'
import { launched } from './bundle/bundle.ts'
import { CACHE } from './bundle/compile.ts'
import type { Checkout } from './checkout.ts'
import { nodeProgram, ownProcessor } from './node-program.ts'
import type { Program } from './programs.ts'

/** What a program needs to run: its modules, npm packages, and Node. */
export interface ProgramTree {
  /** Differs as soon as any byte of it does. */
  readonly id: string
  /** Where an installation keeps it. */
  readonly installedAt: string
}

/** Runs where a package is installed. */
const COMPILE = 'compile.js'

/** Writes the tree of a program into `folder`, which is made. */
export async function writeProgramTree(
  checkout: Checkout,
  { name }: Pick<Program, 'name'>,
  folder: string,
): Promise<ProgramTree> {
  const { root, version } = checkout
  const { files, compile } = await applicationOf(checkout, [name])
  const put = (path: string, content: Buffer | string, mode = 0o644): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content, { mode })
  }
  for (const [path, { content, mode }] of files) put(path, content, mode)
  put(COMPILE, compile)
  const { stripped, licence } = nodeProgram(root, ownProcessor())
  put('bin/node', stripped, 0o755)
  put('LICENSE.node', licence)
  const options = ['--disable-warning=ExperimentalWarning', ...launched(root, name).flags].join(' ')
  const id = `${version}-${hashOf(folder, options)}`
  const installedAt = `/usr/lib/${name}/versions/${id}`
  put(`bin/${name}`, launcherText({ name, version, installedAt, options }), 0o755)
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
}

/**
 * The program that is started. Whoever has opened it is led to the files of the same version, even if an upgrade puts
 * another one in its place before the next line is read.
 */
function launcherText({ name, version, installedAt, options }: Launcher): string {
  return `#!/bin/sh
# ${name} ${version}
root=${installedAt}
export NODE_COMPILE_CACHE="\${NODE_COMPILE_CACHE-$root/${CACHE}}"
exec "$root/bin/node" ${options} "$root/lib/${name}.js" "$@"
`
}

function hashOf(folder: string, options: string): string {
  const hash = createHash('sha256').update(options)
  for (const path of filesIn(folder)) {
    hash.update(`\0${path}\0`).update(readFileSync(join(folder, path)))
  }
  return hash.digest('hex').slice(0, 8)
}
