import { formatDuration, timestamp } from '../../lib/duration.ts'
import { NodeProxyError } from '../../lib/error.ts'
import type { IpAddress } from '../../lib/ip.ts'
import { quote } from '../../lib/quote.ts'
import type { InstalledAuthority } from '../certificates/authority.ts'
import type { ClientCertificate } from '../certificates/client-certificate.ts'
import { newKey } from '../certificates/pem.ts'

const HOUR = 3_600_000

export interface NodeCertificateSubject {
  /** The name of the Node object. */
  readonly node: string
  readonly addresses: readonly IpAddress[]
  /** Milliseconds. */
  readonly life: number
}

/**
 * A certificate with which a node serves at its addresses, and its key, in PEM. Neither is stored by this
 * server.
 * @throws NP_ORCHSERVER_FLAG when it would outlive the authority
 */
export async function nodeCertificate(
  issuer: InstalledAuthority,
  { node, addresses, life }: NodeCertificateSubject,
  now: number,
): Promise<{ readonly cert: string; readonly key: string }> {
  requireLife(issuer, { name: node, life }, now)
  const { issueServer } = await import('../certificates/issue.ts')
  const key = newKey()
  const names = { dns: [node], ips: addresses }
  return {
    key,
    cert: await issueServer({ issuer, key, names, life, subject: `node-proxy ${node}` }, now),
  }
}

/**
 * Refuses a lifetime (milliseconds) with which a certificate would outlive its authority. @throws
 * NP_ORCHSERVER_FLAG
 */
export function requireLife(
  { certificate }: Pick<InstalledAuthority, 'certificate'>,
  { name, life }: { readonly name: string; readonly life: number },
  now: number,
): void {
  const end = certificate.validToDate.getTime()
  if (now + life <= end) return
  const hours = Math.floor((end - now) / HOUR)
  const renewal =
    'at its start orch-server renews an authority when less than a third of its lifetime is left'
  throw new NodeProxyError(
    'NP_ORCHSERVER_FLAG',
    `--valid-for=${formatDuration(life)}: the certificate of ${quote(name)} would end on ${timestamp(now + life)}, after its authority, which ends on ${timestamp(end)}`,
    { hint: hours < 1 ? renewal : `write at most --valid-for=${hours}h; ${renewal}` },
  )
}

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
