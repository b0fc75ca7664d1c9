import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeFolder } from '../../lib/files.ts'
import { withStorageErrors } from './database/sqlite-error.ts'
import { withOpenErrors } from './store-file.ts'

/** The exclusive lock on a data directory; the kernel releases it however the process ends. */
export interface DirectoryLock {
  release(): void
}

/**
 * Creates the directory if needed (for its owner only: it holds Secrets) and
 * locks it. The lock is SQLite's own, on the empty file `lock`: it also excludes
 * a second lock in this process, whatever path names the directory. On a file that it
 * may not write SQLite silently takes a shared lock, so such a file is refused first.
 * @throws NP_STORAGE_LOCKED when this or another process holds the lock; NP_STORAGE_OPEN when the directory cannot be used
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
 * Creates the file if it is missing. An existing file is not opened: closing it
 * would drop every lock of this process on it (fcntl_locking(2)).
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
