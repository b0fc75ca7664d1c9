import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { onTestFinished } from 'vitest'
import {
  type EmbeddedStore,
  type EmbeddedStoreOptions,
  openEmbeddedStore,
} from '../embedded-store.ts'

/** A directory that goes away with the test. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'np-store-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A store that is closed with the test, in a directory of its own unless one is given. */
export async function newStore(
  options: Partial<EmbeddedStoreOptions> = {},
): Promise<EmbeddedStore & { readonly directory: string }> {
  const { directory = newDirectory() } = options
  const store = await openEmbeddedStore({ ...options, directory })
  onTestFinished(() => store.close())
  return Object.assign(store, { directory })
}

/** Makes of a closed store, or a backup, what the version of the program without checksums wrote. */
export function toFirstSchema(file: string): void {
  const database = new DatabaseSync(file)
  database.exec(`
    DROP TABLE IF EXISTS seal;
    ALTER TABLE log DROP COLUMN checksum;
    ALTER TABLE meta DROP COLUMN checksum;
    PRAGMA user_version = 1;`)
  database.close()
}
