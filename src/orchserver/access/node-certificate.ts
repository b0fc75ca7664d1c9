import type { IpAddress } from '../../lib/ip.ts'
import type { InstalledAuthority } from '../certificates/authority.ts'
import { newKey } from '../certificates/pem.ts'
import { requireLife } from './certificate-life.ts'

export interface NodeCertificateSubject {
  /** Of the Node object. */
  readonly node: string
  readonly addresses: readonly IpAddress[]
  /** Milliseconds. */
  readonly life: number
}

/**
 * A certificate with which a node serves at its addresses, kept nowhere here, and its key, in PEM.
 * @throws NP_ORCHSERVER_FLAG where it would outlive the authority
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
