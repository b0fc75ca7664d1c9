import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { withOpenErrors } from './open-error.ts'
import { storageError } from './sqlite-error.ts'

/** Holds a data directory for one process; the kernel releases it however the process ends. */
export interface DirectoryLock {
  release(): void
}

/**
 * Makes the directory if needed (for its owner only: it holds secrets) and
 * locks it. The lock is SQLite's own, on an empty file beside the store.
 * @throws NP_STORAGE_LOCKED when another process, or this one, holds it
 */
export function lockDirectory(directory: string): DirectoryLock {
  const file = join(directory, 'lock')
  withOpenErrors(directory, () => {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    closeSync(openSync(file, 'a', 0o600))
  })
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw storageError(error, directory)
  }
  return { release: () => database.close() }
}
