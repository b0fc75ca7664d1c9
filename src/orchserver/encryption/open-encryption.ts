import type { Clock } from '../../lib/clock.ts'
import { encryptedStore } from '../../storage/encryption/encrypted-store.ts'
import { keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import { Keyring } from '../../storage/encryption/keyring.ts'
import type { Store } from '../../storage/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { CONFIDENTIAL_PREFIXES, KEY_CHECK } from './confidential-prefixes.ts'
import { followKeys } from './follow-keys.ts'
import { type KeyFile, parseKeyFile } from './key-file.ts'
import {
  isReadableForOthers,
  keyFilePath,
  makeKeyFile,
  missingKeyFile,
  readKeyText,
} from './read-key-file.ts'
import { requireKeys } from './require-keys.ts'

export interface EncryptionParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/**
 * The store with its Secrets encrypted by the keys of the configuration; closing it closes the store.
 * Without a key file one is made in the data directory, unless the store has values that need another.
 * @throws NP_ORCHSERVER_ENCRYPTION_FILE, NP_ORCHSERVER_ENCRYPTION_KEY, NP_ORCHSERVER_FILE; the errors of the store
 */
export async function openEncryption(
  store: Store,
  config: Pick<OrchServerConfiguration, 'dataDir' | 'encryption'>,
  { clock, log }: EncryptionParts,
): Promise<Store> {
  const path = keyFilePath(config)
  const text = await textFor(store, path, config.encryption.keyFile === '')
  const file = parseKeyFile(path, text)
  await requireKeys(store, path, file)
  if (await isReadableForOthers(path)) {
    log.warn({ file: path }, 'other users of this machine can read the encryption keys: chmod 600')
  }
  const encryption = { keys: new Keyring(file.keys), prefixes: CONFIDENTIAL_PREFIXES }
  const encrypted = encryptedStore(store, encryption)
  await writeKeyCheck(store, encrypted, file)
  await requireKeys(store, path, file)
  const stop = followKeys({ path, text, encryption, store, clock, log })
  const close = async (): Promise<void> => {
    await stop()
    await store.close()
  }
  return { ...encrypted, close }
}

async function textFor(store: Store, path: string, mayMake: boolean): Promise<string> {
  const text = await readKeyText(path)
  if (text !== undefined) return text
  if (!mayMake) throw missingKeyFile(path)
  await requireKeys(store, path, undefined)
  return makeKeyFile(path)
}

/** Writes the key check where there is none, and in place of one whose key is lost. */
async function writeKeyCheck(
  store: Store,
  encrypted: Store,
  { lost }: Pick<KeyFile, 'lost'>,
): Promise<void> {
  const entry = await store.get(KEY_CHECK)
  if (entry !== undefined && !lost.has(keyNameOf(entry.value) ?? '')) return
  const compare = [{ key: KEY_CHECK, modRevision: entry?.modRevision ?? 0 }]
  const value = Buffer.from('{}')
  await encrypted.txn({ compare, operations: [{ op: 'put', key: KEY_CHECK, value }] })
}
