import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { withOpenErrors } from './open-error.ts'

/** The names that a data directory holds. */
export function storeFiles(directory: string) {
  const store = join(directory, 'store.sqlite')
  return {
    store,
    /** A new store that is not complete yet. */
    unborn: join(directory, 'store.sqlite.new'),
    /** SQLite's log and index beside the store. */
    beside: [`${store}-wal`, `${store}-shm`],
    /** A complete restored store that has not taken its place yet. */
    restored: join(directory, 'restored.sqlite'),
    /** A restored store that is being written. */
    partial: join(directory, 'restored.sqlite.partial'),
  }
}

/**
 * The store's file, for its owner only, on the disk under its name; ends an interrupted restore.
 * A new one is made complete before it has its name, so one that is empty was damaged.
 * @throws NP_STORAGE_CORRUPT
 */
export function prepareFile(directory: string, make: (file: string) => void): string {
  const { store, unborn } = storeFiles(directory)
  adoptRestored(directory)
  if (existsSync(store)) return refuseEmpty(store)
  makePrivate(unborn)
  make(unborn)
  withOpenErrors(directory, () => publish(unborn, store))
  return store
}

/** A new empty file that only its owner reads. */
export function makePrivate(file: string): void {
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
 * Puts a restored store into its place. The old log must go first, because
 * SQLite would replay it into the new store; as `restored` stays until the end,
 * this can be interrupted anywhere and is done again when the store is opened.
 */
export function adoptRestored(directory: string): void {
  const { store, beside, restored } = storeFiles(directory)
  if (!existsSync(restored)) return
  for (const file of beside) rmSync(file, { force: true })
  flush(directory)
  renameSync(restored, store)
  flush(directory)
}

/** The file that holds the store now: a restored one that could not take its place yet counts. */
export function currentFile(directory: string): string {
  const { store, restored } = storeFiles(directory)
  return existsSync(restored) ? restored : store
}

/** Gives a complete file its name, both on the disk. */
export function publish(partial: string, file: string): void {
  flush(partial)
  renameSync(partial, file)
  flush(dirname(file))
}

/** Waits until a file, or the names in a directory, are on the disk. */
function flush(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
