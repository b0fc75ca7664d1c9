import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'

/** Group and user of what a daemon without rights writes. */
export const NONROOT = 65_532

export type Entry =
  | { readonly kind: 'file'; readonly content: Buffer; readonly mode: number }
  | { readonly kind: 'folder'; readonly mode: number; readonly owner?: number }
  | { readonly kind: 'link'; readonly target: string }

const FOLDER: Entry = { kind: 'folder', mode: 0o755 }

/** What a layer holds. Paths have no slash at the beginning or the end. */
export class FileTree {
  readonly #entries = new Map<string, Entry>()

  /** Adds an entry with the folders that it is in. An entry that is there already must be the same. */
  add(path: string, entry: Entry): void {
    const present = this.#entries.get(path)
    if (present !== undefined && !isSame(present, entry)) throw new Error(`${path}: there are two`)
    const folder = dirname(path)
    if (folder !== '.' && !this.#entries.has(folder)) this.add(folder, FOLDER)
    this.#entries.set(path, entry)
  }

  addText(path: string, text: string, mode = 0o644): void {
    this.add(path, { kind: 'file', content: Buffer.from(text), mode })
  }

  get(path: string): Entry | undefined {
    return this.#entries.get(path)
  }

  /** Sorted by path, so that each folder comes before what is in it. */
  entries(): readonly (readonly [path: string, entry: Entry])[] {
    return [...this.#entries].sort(([one], [other]) => (one < other ? -1 : 1))
  }

  /** Adds the files below a folder of this machine, readable by everyone. */
  async addFolder(path: string, from: string): Promise<void> {
    const found = await readdir(from, { recursive: true, withFileTypes: true })
    for (const one of found) {
      const source = join(one.parentPath, one.name)
      const to = posix.join(path, source.slice(from.length))
      if (one.isFile()) this.add(to, await fileAt(source))
    }
  }

  /** Writes everything below a folder of this machine, owned by whoever runs this. */
  async writeTo(folder: string): Promise<void> {
    for (const [path, entry] of this.entries()) {
      const to = join(folder, path)
      if (entry.kind === 'folder') await mkdir(to, { recursive: true })
      if (entry.kind === 'link') await symlink(entry.target, to)
      if (entry.kind !== 'file') continue
      await writeFile(to, entry.content)
      await chmod(to, entry.mode)
    }
  }

  /** Bytes of all files. */
  get size(): number {
    return this.entries().reduce(
      (sum, [, entry]) => sum + (entry.kind === 'file' ? entry.content.length : 0),
      0,
    )
  }
}

/** A file of this machine, readable by everyone, and executable if it is. */
async function fileAt(path: string): Promise<Entry> {
  const { mode } = await stat(path)
  return { kind: 'file', content: await readFile(path), mode: (mode & 0o111) === 0 ? 0o644 : 0o755 }
}

/** A licence, as it is kept for who looks for it: compressed. */
export function licence(text: Buffer): Entry {
  return { kind: 'file', content: gzipSync(text, { level: 9 }), mode: 0o644 }
}

/** The archive of a tree: the same bytes for the same content. `time`: seconds since 1970, of every entry. */
export async function tarOf(tree: FileTree, time: number): Promise<Buffer> {
  const archive = pack()
  const written = Array.fromAsync(archive as AsyncIterable<Buffer>)
  const mtime = new Date(time * 1_000)
  for (const [path, entry] of tree.entries()) {
    const common = { mtime, uid: 0, gid: 0, uname: '', gname: '' }
    if (entry.kind === 'file') {
      archive.entry({ ...common, name: path, mode: entry.mode }, entry.content)
    } else if (entry.kind === 'link') {
      archive.entry({ ...common, name: path, type: 'symlink', linkname: entry.target, mode: 0o777 })
    } else {
      const { owner: uid = 0, mode } = entry
      archive.entry({ ...common, name: `${path}/`, type: 'directory', mode, uid, gid: uid })
    }
  }
  archive.finalize()
  return Buffer.concat(await written)
}

function isSame(one: Entry, other: Entry): boolean {
  if (one.kind === 'file' && other.kind === 'file') return one.content.equals(other.content)
  if (one.kind === 'link' && other.kind === 'link') return one.target === other.target
  return one.kind === other.kind
}
