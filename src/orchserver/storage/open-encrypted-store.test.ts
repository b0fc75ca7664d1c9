import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { completeConfiguration } from '../../settings/settings.ts'
import { keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import { put, write } from '../../storage/testing/conformance-steps.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'
import { keyLine } from '../encryption/testing/key-files.ts'
import { openEncryptedStore } from '../server.ts'
import { newFolder } from '../testing/new-folder.ts'
import { openStore } from './open-store.ts'

const KEY = '/secrets/default/a'
const LOG = { info: () => undefined, warn: () => undefined, error: () => undefined } as never

function at(dataDir: string) {
  const config = { ...completeConfiguration(SETTINGS_TABLE, new Map()), dataDir }
  const parts = { clock: new FakeClock(), onError: () => undefined, log: LOG }
  /** Resolves once the Secret is written after this revision, in the background, and the store is closed. */
  const rewritten = async (after: number): Promise<string> => {
    const { store } = await openEncryptedStore(config, parts)
    await parts.clock.advance(0)
    const watch = store.watch({ prefix: KEY, after })
    for await (const batch of watch) {
      if (batch.refused === undefined && batch.events.length > 0) break
    }
    const entry = await store.get(KEY)
    await store.close()
    return String(entry?.value)
  }
  const storedName = async (): Promise<string | undefined> => {
    const { store } = await openStore(config, parts)
    const entry = await store.get(KEY)
    await store.close()
    return keyNameOf(entry!.value)
  }
  return { config, parts, rewritten, storedName }
}

it('encrypts the Secrets of a store of an older version', async () => {
  const { config, parts, rewritten, storedName } = at(newFolder())
  const { store } = await openStore(config, parts)
  const revision = await write(store, put(KEY, 'text'))
  await store.close()
  expect(await storedName()).toBeUndefined()
  expect(await rewritten(revision)).toBe('text')
  expect(await storedName()).toMatch(/^key-/)
})

it('encrypts Secrets with a new first key after a restart', async () => {
  const dataDir = newFolder()
  const { config, parts, rewritten, storedName } = at(dataDir)
  const { store } = await openEncryptedStore(config, parts)
  const revision = await write(store, put(KEY, 'text'))
  await store.close()
  const keyFile = join(dataDir, 'pki', 'encryption.keys')
  writeFileSync(keyFile, `${keyLine('new')}\n${readFileSync(keyFile, 'utf8')}`)
  expect(await rewritten(revision)).toBe('text')
  expect(await storedName()).toBe('new')
})
