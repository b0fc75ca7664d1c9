import { createSecretKey } from 'node:crypto'
import type { EncryptionKey } from '../keyring.ts'

/** A key whose bytes follow from its name and `byte`. */
export function testKey(name: string, byte = name.charCodeAt(0)): EncryptionKey {
  return { name, secret: createSecretKey(Buffer.alloc(32, byte)) }
}
