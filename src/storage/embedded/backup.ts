import { closeSync, openSync, rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { openForReading } from './database.ts'
import { withOpenErrors } from './open-error.ts'
import { storageError } from './sqlite-error.ts'
import { publish } from './store-file.ts'

/** All pages in one step: a copy in several would start again at every commit. */
const WHOLE = 2 ** 31 - 1

/**
 * Copies a store, which may be in use, as it is at one moment. The copy is one
 * file, complete and on the disk once it has its name. It is read on a thread
 * of Node's pool through a connection of its own, so nothing waits for it.
 */
export async function writeBackup(store: string, file: string): Promise<void> {
  const partial = `${file}.partial`
  withOpenErrors(file, () => {
    rmSync(partial, { force: true })
    closeSync(openSync(partial, 'ax', 0o600))
  })
  try {
    await copy(store, partial)
    withOpenErrors(file, () => publish(partial, file))
  } catch (error) {
    rmSync(partial, { force: true })
    throw storageError(error, file)
  }
}

async function copy(store: string, partial: string): Promise<void> {
  const source = openForReading(store)
  try {
    await backup(source, partial, { rate: WHOLE })
  } finally {
    source.close()
  }
  const copied = new DatabaseSync(partial)
  try {
    copied.exec('PRAGMA journal_mode = DELETE')
  } finally {
    copied.close()
  }
}
