import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder } from '../../lib/make-folder.ts'
import { withOpenErrors } from './open-error.ts'
import { withStorageErrors } from './sqlite-error.ts'

/** Holds a data directory for one process; the kernel releases it however the process ends. */
export interface DirectoryLock {
  release(): void
}

/**
 * Makes the directory if needed (for its owner only: it holds secrets) and
 * locks it. The lock is SQLite's own, on an empty file beside the store: it also
 * refuses a second one in this process, under whatever name. Of a file that it
 * may not write SQLite silently takes a shared lock, so that is refused first.
 * @throws NP_STORAGE_LOCKED when another process, or this one, holds it; NP_STORAGE_OPEN
 */
export function lockDirectory(directory: string): DirectoryLock {
  const file = join(directory, 'lock')
  withOpenErrors(directory, () => {
    makeFolder(directory)
    makeFile(file)
    accessSync(file, constants.W_OK)
  })
  return withStorageErrors(directory, () => lockFile(file))
}

/**
 * Makes the file if it is missing. One that exists is not opened: to close it
 * would drop every lock that this process holds on it (fcntl_locking(2)).
 */
function makeFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

function lockFile(file: string): DirectoryLock {
  const database = new DatabaseSync(file, { timeout: 0 })
  try {
    database.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw error
  }
  return { release: () => database.close() }
}
