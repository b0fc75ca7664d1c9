import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { NodeProxyError } from '../../lib/error.ts'
import { refuseCutLog } from './cut-log.ts'
import { lockDirectory } from './directory-lock.ts'
import { storeFiles } from './store-file.ts'

/**
 * The same question of a store that is only to be read: also a reader makes SQLite take a damaged
 * log up to the damage. The log of a store that is in use is complete, and changes while it is read;
 * a file that is no store has none.
 * @throws NP_STORAGE_CORRUPT
 */
export function refuseCutLogAtRest(file: string): void {
  const directory = dirname(file)
  const isStore = file === storeFiles(directory).store && existsSync(join(directory, 'lock'))
  if (isStore && !isInUse(directory)) refuseCutLog(file)
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
