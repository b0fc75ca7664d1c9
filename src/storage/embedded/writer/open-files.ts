import { statSync } from 'node:fs'
import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'

/**
 * The inodes of the store's file and its log at the time of opening. When another process deletes
 * or replaces the files, SQLite goes on writing to files that no process can open again:
 * every commit and compaction checks the inodes first.
 */
export class OpenFiles {
  readonly #store: string
  readonly #files: ReadonlyMap<string, number | undefined>

  constructor(store: string) {
    this.#store = store
    this.#files = new Map([store, `${store}-wal`].map((file) => [file, inodeOf(file)]))
  }

  /** @throws NP_STORAGE_GONE when a file was deleted or replaced */
  refuseGone(): void {
    for (const [file, inode] of this.#files) {
      if (inode !== undefined && inodeOf(file) === inode) continue
      throw new NodeProxyError('NP_STORAGE_GONE', `${quote(file)} was deleted or replaced`, {
        object: this.#store,
        hint: 'start the server again; restore a backup if the data is missing then',
      })
    }
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}
