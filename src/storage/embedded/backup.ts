import { rmSync } from 'node:fs'
import { backup, DatabaseSync } from 'node:sqlite'
import { damagedError } from './damaged-error.ts'
import { openForReading } from './database.ts'
import { type Examine, inspectDatabase } from './inspect.ts'
import { withOpenErrors } from './open-error.ts'
import { removeSeal, writeSeal } from './seal.ts'
import { storageError } from './sqlite-error.ts'
import { makePrivate, publish } from './store-file.ts'

/** All pages in one step: a copy in several would start again at every commit. */
const WHOLE = 2 ** 31 - 1

/** Takes every value: for stores whose values are not known here. */
export const ANY_VALUE: Examine = () => undefined

/**
 * Copies a store, which may be in use, as it is at one moment. The copy is one
 * file, complete, with the checksum of its content, and on the disk once it has its name. A store
 * that is damaged is not copied: its backup could not be restored.
 * @throws NP_STORAGE_CORRUPT, which names what is damaged
 */
export async function writeBackup(
  store: string,
  file: string,
  examine: Examine = ANY_VALUE,
): Promise<void> {
  const partial = `${file}.partial`
  makePrivate(partial)
  try {
    await copyDatabase(store, partial)
    seal(store, partial, examine)
    withOpenErrors(file, () => publish(partial, file))
  } catch (error) {
    rmSync(partial, { force: true })
    throw storageError(error, file)
  }
}

/**
 * Copies all pages of a database to a new file, which is one file. They are read on a thread
 * of Node's pool through a connection of its own, so nothing waits for it.
 */
export async function copyDatabase(from: string, partial: string): Promise<void> {
  const source = openForReading(from)
  try {
    await backup(source, partial, { rate: WHOLE })
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
