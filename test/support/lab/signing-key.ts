import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A new key that Kubernetes signs tokens of accounts with, as a file in `folder`; its path. */
export function newSigningKey(folder: string): string {
  const file = join(folder, 'service-account.key')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  return file
}
