import type { InstalledAuthority } from '../certificates/authority.ts'
import type { ClientCertificate } from '../certificates/client-certificate.ts'
import { newKey } from '../certificates/pem.ts'
import { requireLife } from './node-certificate.ts'

export interface UserCertificateRequest {
  readonly user: string
  readonly groups: readonly string[]
  /** Milliseconds. */
  readonly life: number
}

/**
 * A client certificate for a user. It is not stored by this server.
 * @throws NP_ORCHSERVER_FLAG when it would outlive the authority
 */
export async function userCertificate(
  issuer: InstalledAuthority,
  request: UserCertificateRequest,
  now: number,
): Promise<ClientCertificate> {
  requireLife(issuer, { name: request.user, life: request.life }, now)
  const { issueClient } = await import('../certificates/issue.ts')
  const key = newKey()
  return { key, cert: await issueClient({ ...request, issuer, key }, now) }
}
