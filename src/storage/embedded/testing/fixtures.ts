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

/** A directory that is removed after the test. */
export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'np-store-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A store that is closed after the test, in a new directory unless one is given. */
export async function newStore(
  options: Partial<EmbeddedStoreOptions> = {},
): Promise<EmbeddedStore & { readonly directory: string }> {
  const { directory = newDirectory() } = options
  const store = await openEmbeddedStore({ ...options, directory })
  onTestFinished(() => store.close())
  return Object.assign(store, { directory })
}

/** Converts a closed store, or a backup, to schema 1, which has no checksums. */
export function toFirstSchema(file: string): void {
  const database = new DatabaseSync(file)
  database.exec(`
    DROP TABLE IF EXISTS seal;
    ALTER TABLE log DROP COLUMN checksum;
    ALTER TABLE meta DROP COLUMN checksum;
    PRAGMA user_version = 1;`)
  database.close()
}
