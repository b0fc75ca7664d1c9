import { secrets } from '../../apiserver/kinds/secret.ts'
import { storagePrefix } from '../../apiserver/resource/resource.ts'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { encryptedStore } from '../../storage/encryption/encrypted-store.ts'
import { decryptValue, isEncrypted, keyNameOf } from '../../storage/encryption/encrypted-value.ts'
import { Keyring } from '../../storage/encryption/keyring.ts'
import type { Store } from '../../storage/store.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { followKeys } from './follow-keys.ts'
import {
  isReadableForOthers,
  type KeyFile,
  keyFilePath,
  makeKeyFile,
  missingKeyFile,
  parseKeyFile,
  readKeyText,
} from './key-file.ts'

/** The storage key of an encrypted value. A server that cannot decrypt it at its start has other keys than the store. */
export const KEY_CHECK = '/encryption/check'

/** The prefixes of the storage keys whose values are encrypted. */
export const CONFIDENTIAL_PREFIXES: readonly string[] = [storagePrefix(secrets), KEY_CHECK]

/** How many values are read at once. */
const PAGE = 100

export interface EncryptionParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

/**
 * The store with its Secrets encrypted by the keys of the configuration; closing it closes the store. If there
 * is no key file, one is created in the data directory, unless the store has values that need another key.
 * @throws NP_ORCHSERVER_ENCRYPTION_FILE, NP_ORCHSERVER_ENCRYPTION_KEY, NP_ORCHSERVER_FILE; the errors of the
 * store
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

/** Writes the key check if it is missing, or if the key of the existing one is lost. */
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

/**
 * Compares the keys with what is stored, before anything is served.
 * @param file undefined: it does not exist
 * @throws NP_ORCHSERVER_ENCRYPTION_KEY when values are encrypted, and none of them can be decrypted
 */
async function requireKeys(
  store: Pick<Store, 'list'>,
  path: string,
  file: KeyFile | undefined,
): Promise<void> {
  let refused: { readonly name: string; readonly cause: string } | undefined
  for (const prefix of CONFIDENTIAL_PREFIXES) {
    for await (const { key, value, damaged } of entriesUnder(store, prefix)) {
      if (damaged === true || !isEncrypted(value)) continue
      const name = keyNameOf(value) ?? ''
      if (file?.lost.has(name) === true) continue
      const cause = file === undefined ? '' : causeOf(file, key, value)
      if (cause === undefined) return
      refused ??= { name, cause }
    }
  }
  if (refused !== undefined) throw wrongKeys(path, file, refused)
}

function causeOf(file: KeyFile, key: string, value: Buffer): string | undefined {
  return decryptValue(new Keyring(file.keys), key, value).cause
}

async function* entriesUnder(store: Pick<Store, 'list'>, prefix: string) {
  for (let after: string | undefined; ; ) {
    const from = after === undefined ? {} : { after }
    const page = await store.list({ prefix, limit: PAGE, ...from })
    if (page.refused !== undefined) return
    yield* page.entries
    after = page.entries.at(-1)?.key
    if (page.remaining === 0) return
  }
}

function wrongKeys(
  path: string,
  file: KeyFile | undefined,
  { name, cause }: { readonly name: string; readonly cause: string },
): NodeProxyError {
  const what =
    file === undefined
      ? `Secrets of the store are encrypted with the key ${quote(name)}, and the key file ${path} does not exist`
      : `no key of ${path} decrypts any Secret of the store: ${cause}`
  return new NodeProxyError('NP_ORCHSERVER_ENCRYPTION_KEY', what, {
    object: path,
    hint: `restore the key file that the store was written with; servers that share an etcd need the same file (--encryption-key-file); if the key no longer exists, add the line ${name}:lost below a new key, which makes its Secrets unreadable objects`,
  })
}
