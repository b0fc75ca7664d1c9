import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { lockDirectory } from './directory-lock.ts'
import { storeFiles } from './store-file.ts'
import { refuseTruncatedWal } from './truncated-wal.ts'

/**
 * As `refuseTruncatedWal`, for a file that is opened for reading: SQLite then also reads a damaged log only up
 * to the damage. Checks nothing while a server uses the store, because its log is complete and changes during
 * the check. Checks nothing for a file that is not the store of a data directory either: it has no log.
 * @throws NP_STORAGE_CORRUPT
 */
export function refuseTruncatedWalAtRest(file: string): void {
  const directory = dirname(file)
  const isStore = file === storeFiles(directory).store && existsSync(join(directory, 'lock'))
  if (isStore && !isInUse(directory)) refuseTruncatedWal(file)
}

function isInUse(directory: string): boolean {
  try {
    lockDirectory(directory).release()
    return false
  } catch (error) {
    if (error instanceof NodeProxyError) return true
    throw error
  }
}
