import { readFileSync } from 'node:fs'

const read = (name: string): string =>
  readFileSync(new URL(`./tls/${name}.pem`, import.meta.url), 'utf8')

/** PEM texts of the committed test certificates; see tls/README.md. */
export const certificates = {
  ca: read('ca'),
  server: { cert: read('server'), key: read('server-key') },
  named: { cert: read('named'), key: read('named-key') },
  client: { cert: read('client'), key: read('client-key') },
} as const

export function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
