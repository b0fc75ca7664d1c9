import { formatDuration } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { quote } from '../../lib/quote.ts'
import { timestamp } from '../../lib/timestamp.ts'
import type { ClientCertificate } from '../certificates/admin-certificate.ts'
import type { InstalledAuthority } from '../certificates/authority.ts'
import { newKey } from '../certificates/pem.ts'

export interface UserCertificateRequest {
  readonly user: string
  readonly groups: readonly string[]
  /** Milliseconds. */
  readonly life: number
}

const HOUR = 3_600_000

/**
 * A client certificate for a user, which is kept nowhere here.
 * @throws NP_ORCHSERVER_FLAG where it would outlive the authority
 */
export async function userCertificate(
  issuer: InstalledAuthority,
  request: UserCertificateRequest,
  now: number,
): Promise<ClientCertificate> {
  const end = issuer.certificate.validToDate.getTime()
  if (now + request.life > end) throw tooLong(request, now, end)
  const { issueClient } = await import('../certificates/issue.ts')
  const key = newKey()
  return { key, cert: await issueClient({ ...request, issuer, key }, now) }
}

function tooLong({ user, life }: UserCertificateRequest, now: number, end: number): NodeProxyError {
  const hours = Math.floor((end - now) / HOUR)
  const renewal = 'a start of orch-server renews an authority of which less than a third is left'
  return new NodeProxyError(
    'NP_ORCHSERVER_FLAG',
    `--valid-for=${formatDuration(life)}: the certificate of ${quote(user)} would end on ${timestamp(now + life)}, after its authority, which ends on ${timestamp(end)}`,
    { hint: hours < 1 ? renewal : `write at most --valid-for=${hours}h; ${renewal}` },
  )
}
