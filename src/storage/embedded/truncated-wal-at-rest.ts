import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { lockDirectory } from './directory-lock.ts'
import { storeFiles } from './store-file.ts'
import { refuseTruncatedWal } from './truncated-wal.ts'

/**
 * As `refuseTruncatedWal`, for a file that is only read, because SQLite reads a damaged log up to the
 * damage then, too. Checks nothing when a server uses the store, whose log is complete and changes
 * while it is read, nor for a file that is not the store of a data directory, which has no log.
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
