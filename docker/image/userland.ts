import { posix } from 'node:path'
import { readLinking } from '../../packaging/elf.ts'
import { PROCESSORS, type Processor } from '../../packaging/node-program.ts'
import { type DebianPackage, mergedPath } from './debian-packages.ts'
import { type Entry, type FileTree, licence } from './file-tree.ts'

/** Debian's names of the folders with the libraries of a processor. */
const TRIPLETS: Readonly<Record<Processor, string>> = {
  x64: 'x86_64-linux-gnu',
  arm64: 'aarch64-linux-gnu',
}

/** Takes single files of Debian packages, each with the libraries that it is linked with. */
export class Userland {
  readonly #packages: readonly DebianPackage[]
  readonly #libraries: readonly string[]

  /** @throws Error naming a package that is for another processor */
  constructor(packages: readonly DebianPackage[], processor: Processor) {
    const wanted: readonly string[] = [PROCESSORS[processor], 'all']
    const strange = packages.find(({ architecture }) => !wanted.includes(architecture))
    if (strange !== undefined) {
      throw new Error(
        `the package ${strange.name} is for ${strange.architecture}: name a folder with packages for ${wanted[0]}`,
      )
    }
    this.#packages = packages
    this.#libraries = [`usr/lib/${TRIPLETS[processor]}`, 'usr/lib', 'usr/lib64']
  }

  /** The paths of all packages that match. */
  matching(pattern: RegExp): readonly string[] {
    const found = this.#packages.flatMap(({ files }) => [...files.keys()])
    const paths = found.filter((path) => pattern.test(path))
    if (paths.length === 0) throw new Error(`no package has a file ${pattern.source}`)
    return paths.sort()
  }

  read(path: string): Buffer {
    const { entry } = this.#find(path)
    if (entry.kind !== 'file') throw new Error(`${path} is no file`)
    return entry.content
  }

  /**
   * Adds a file to the tree `into`, with what a link leads to and what a program is linked with. What `below` has is
   * left out. Each package is noted where the first of its files goes.
   */
  take(path: string, into: FileTree, below: readonly FileTree[]): void {
    const layers = [...below, into]
    if (layers.some((layer) => layer.get(path) !== undefined)) return
    const { entry } = this.#find(path)
    into.add(path, entry)
    this.noteOrigin(path, into, below)
    if (entry.kind === 'link') {
      this.take(mergedPath(posix.resolve('/', posix.dirname(path), entry.target)), into, below)
    }
    if (entry.kind === 'file') this.takeLibraries(entry.content, into, below)
  }

  /** Adds what a program or library is linked with. */
  takeLibraries(file: Buffer, into: FileTree, below: readonly FileTree[]): void {
    const { interpreter, needed } = readLinking(file) ?? { interpreter: undefined, needed: [] }
    if (interpreter !== undefined) this.take(mergedPath(interpreter), into, below)
    for (const name of needed) this.take(this.#library(name), into, below)
  }

  /** Says that the package of a file is there, for programs that look for known faults, and under which licence. */
  noteOrigin(path: string, into: FileTree, below: readonly FileTree[]): void {
    const { origin } = this.#find(path)
    const note = `${STATUS}/${origin.name}`
    if ([...below, into].some((layer) => layer.get(note) !== undefined)) return
    into.addText(note, origin.control)
    const folder = `usr/share/doc/${origin.name}`
    const shared = origin.files.get(folder)
    const terms = origin.files.get(`${folder}/copyright`)
    if (terms?.kind === 'file') into.add(`${folder}/copyright.gz`, licence(terms.content))
    if (shared?.kind !== 'link') return
    into.add(folder, shared)
    this.noteOrigin(`usr/share/doc/${shared.target}/copyright`, into, below)
  }

  /** The packages of which a tree has files. */
  packagesOf(trees: readonly FileTree[]): readonly DebianPackage[] {
    return this.#packages.filter(({ name }) =>
      trees.some((tree) => tree.get(`${STATUS}/${name}`) !== undefined),
    )
  }

  #library(name: string): string {
    const paths = this.#libraries.map((folder) => `${folder}/${name}`)
    const found = paths.find((path) => this.#packages.some(({ files }) => files.has(path)))
    if (found === undefined) throw new Error(`no package has the library ${name}`)
    return found
  }

  #find(path: string): { readonly origin: DebianPackage; readonly entry: Entry } {
    for (const origin of this.#packages) {
      const entry = origin.files.get(path)
      if (entry !== undefined) return { origin, entry }
    }
    throw new Error(`no package has the file /${path}`)
  }
}

/** Where scanners look for packages in an image without dpkg. */
const STATUS = 'var/lib/dpkg/status.d'
