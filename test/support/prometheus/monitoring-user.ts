import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { userCertificate } from '../../../src/orchserver/access/issued-certificate.ts'
import { readAuthority } from '../../../src/orchserver/certificates/authority.ts'

const HOUR = 3_600_000

/** The files that `tls_config` of a scrape configuration names. */
export interface ScrapeCredentials {
  readonly ca_file: string
  readonly cert_file: string
  readonly key_file: string
}

/** Writes the certificate of a user that may read metrics, as docs/operate/security.md makes one, into a folder. */
export async function writeMonitoringUser(pki: string, folder: string): Promise<ScrapeCredentials> {
  const user = { user: 'prometheus', groups: ['system:monitoring'], life: HOUR }
  const { cert, key } = await userCertificate(await readAuthority(pki), user, Date.now())
  const [cert_file, key_file] = [join(folder, 'user.crt'), join(folder, 'user.key')]
  writeFileSync(cert_file, cert)
  writeFileSync(key_file, key)
  return { ca_file: join(pki, 'ca.crt'), cert_file, key_file }
}
