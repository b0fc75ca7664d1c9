import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  type EmbeddedStore,
  type EmbeddedStoreOptions,
  openEmbeddedStore,
} from './embedded-store.ts'

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
