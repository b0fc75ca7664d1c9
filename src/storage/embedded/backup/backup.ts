import { rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { openForReading } from '../database/database.ts'
import { removeSeal, writeSeal } from '../database/seal.ts'
import { storageError } from '../database/sqlite-error.ts'
import { createPrivateFile, renameDurably, withOpenErrors } from '../store-file.ts'
import { damagedError, type Examine, inspectDatabase } from './inspect.ts'

/** Pages of one step of a copy: all, because a copy in several steps starts again at every commit. */
const ALL_PAGES = 2 ** 31 - 1

/** Accepts every value. */
export const ANY_VALUE: Examine = () => undefined

/**
 * Copies a store, which may be in use, as it is at one moment, to one file with the checksum of its
 * content. The file has its name only once it is complete and on the disk. A damaged store is not
 * copied, because its backup could not be restored.
 * @param store path of the database
 * @param examine checks each value of the present state
 * @throws NP_STORAGE_CORRUPT, whose message names what is damaged; NP_STORAGE_OPEN; the errors of SQLite
 */
export async function writeBackup(
  store: string,
  file: string,
  examine: Examine = ANY_VALUE,
): Promise<void> {
  const partial = `${file}.partial`
  createPrivateFile(partial)
  try {
    await copyDatabase(store, partial)
    seal(store, partial, examine)
    withOpenErrors(file, () => renameDurably(partial, file))
  } catch (error) {
    rmSync(partial, { force: true })
    throw storageError(error, file)
  }
}

/**
 * Copies a database to a new file, without a log beside it. A thread of Node's pool reads the pages
 * through a connection of its own, so nothing waits for it. @throws the errors of SQLite, not mapped
 */
export async function copyDatabase(from: string, partial: string): Promise<void> {
  const source = openForReading(from)
  try {
    await backup(source, partial, { rate: ALL_PAGES })
  } finally {
    source.close()
  }
  withDatabase(partial, (copied) => copied.exec('PRAGMA journal_mode = DELETE'))
}

function seal(store: string, partial: string, examine: Examine): void {
  withDatabase(partial, (copied) => {
    removeSeal(copied)
    const { findings } = inspectDatabase(copied, examine)
    if (findings.length > 0) {
      const hint =
        'nothing was backed up; delete the objects that are named (kubectl delete), or restore an earlier backup'
      throw damagedError('the store', store, { findings, hint })
    }
    writeSeal(copied)
  })
}

function withDatabase(file: string, work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(file)
  try {
    work(database)
  } finally {
    database.close()
  }
}
