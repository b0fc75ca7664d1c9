import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'

/** The paths of the files of a data directory. */
export function storeFiles(directory: string) {
  const store = join(directory, 'store.sqlite')
  return {
    store,
    /** A new store that is being created. */
    incomplete: join(directory, 'store.sqlite.new'),
    /** SQLite's log and index beside the store. */
    walFiles: [`${store}-wal`, `${store}-shm`],
    /** A complete restored store that has not replaced `store` yet. */
    restored: join(directory, 'restored.sqlite'),
    /** A restored store that is being written. */
    partial: join(directory, 'restored.sqlite.partial'),
  }
}

/**
 * The path of the store's file. Finishes an interrupted restore first, and creates a missing store that only
 * its owner may read: `make` writes it under a temporary path, so the store is complete once it has its final
 * path.
 * @throws NP_STORAGE_CORRUPT for an empty store, which was damaged; NP_STORAGE_OPEN
 */
export function prepareFile(directory: string, make: (file: string) => void): string {
  const { store, incomplete } = storeFiles(directory)
  adoptRestored(directory)
  if (existsSync(store)) return refuseEmpty(store)
  createPrivateFile(incomplete)
  make(incomplete)
  withOpenErrors(directory, () => renameDurably(incomplete, store))
  return store
}

/** Replaces a file by an empty one that only its owner may read. @throws NP_STORAGE_OPEN */
export function createPrivateFile(file: string): void {
  withOpenErrors(file, () => {
    rmSync(file, { force: true })
    closeSync(openSync(file, 'ax', 0o600))
  })
}

function refuseEmpty(store: string): string {
  if (statSync(store).size > 0) return store
  throw new NodeProxyError('NP_STORAGE_CORRUPT', `${quote(store)} is empty`, {
    object: store,
    hint: 'restore the latest backup; only if there never was anything in this store, remove the file',
  })
}

/**
 * Replaces the store by the restored one, if there is one. The old log must be removed first, because SQLite
 * would replay it into the new store. Because `restored` exists until the end, this can be interrupted at any
 * point; opening the store repeats it.
 */
export function adoptRestored(directory: string): void {
  const { store, walFiles, restored } = storeFiles(directory)
  if (!existsSync(restored)) return
  for (const file of walFiles) rmSync(file, { force: true })
  flush(directory)
  renameSync(restored, store)
  flush(directory)
}

/** The path of the file that the next start serves: the restored store, if one has not replaced `store` yet. */
export function currentFile(directory: string): string {
  const { store, restored } = storeFiles(directory)
  return existsSync(restored) ? restored : store
}

/** Renames a complete file; both its content and its new name are on the disk afterwards. */
export function renameDurably(partial: string, file: string): void {
  flush(partial)
  renameSync(partial, file)
  flush(dirname(file))
}

/** Waits until the content of a file, or the names in a directory, are on the disk. */
function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Runs `work` on files. @throws NP_STORAGE_OPEN, whose cause is whatever `work` throws */
export function withOpenErrors<Result>(path: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    throw new NodeProxyError('NP_STORAGE_OPEN', `${quote(path)} cannot be used: ${String(cause)}`, {
      object: path,
      hint: 'check that the directory exists and that this user may write to it',
      cause,
    })
  }
}
