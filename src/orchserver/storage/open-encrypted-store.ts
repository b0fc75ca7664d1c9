import type { OrchServerConfiguration } from '../config/configuration.ts'
import { type EncryptionParts, openEncryption } from '../encryption/open-encryption.ts'
import { type OpenedStore, openStore, type StoreParts } from './open-store.ts'

/**
 * The store of the configuration, with its Secrets encrypted.
 * @throws the errors of `openStore` and of `openEncryption`; the store is closed then
 */
export async function openEncryptedStore(
  config: OrchServerConfiguration,
  parts: StoreParts & EncryptionParts,
): Promise<OpenedStore> {
  const opened = await openStore(config, parts)
  try {
    return { ...opened, store: await openEncryption(opened.store, config, parts) }
  } catch (error) {
    await opened.store.close()
    throw error
  }
}
