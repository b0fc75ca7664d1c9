import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Writes a new key for signing tokens of accounts, as Kubernetes uses it, into `folder`. @returns the path */
export function newSigningKey(folder: string): string {
  const file = join(folder, 'service-account.key')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
  return file
}
