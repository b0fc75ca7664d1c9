import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MASTERS } from '../../auth/user.ts'

/** Who fills and watches the cluster of the sandbox: by a socket, on which no certificate is shown. */
export interface Administrator {
  readonly token: string
  /** For `--token-auth-file`. */
  readonly tokenFile: string
  /** For `curl -H @FILE`. */
  readonly header: string
}

/** Makes an administrator for one run, with files that its user alone can read. */
export function writeAdministrator(folder: string): Administrator {
  const token = randomBytes(32).toString('base64url')
  const [tokenFile, header] = [join(folder, 'administrator.csv'), join(folder, 'administrator')]
  writeFileSync(tokenFile, `${token},sandbox,,${MASTERS}\n`, { mode: 0o600 })
  writeFileSync(header, `Authorization: Bearer ${token}\n`, { mode: 0o600 })
  return { token, tokenFile, header }
}
