import { generateKeyPairSync } from 'node:crypto'

/** A new P-256 key, in PEM. */
export function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}
