import 'reflect-metadata'
import { Pkcs10CertificateRequest, SubjectAlternativeNameExtension } from '@peculiar/x509'
import { NODES, nodeOfUser, nodeUserName } from '../../auth/node/node-authorizer.ts'
import type { User } from '../../auth/user.ts'
import { KUBELET_SIGNERS } from '../../controllers/certificates-controller.ts'
import type { SigningRequest } from '../../controllers/objects/plain-objects.ts'
import { parseIp } from '../../lib/ip.ts'
import type { InstalledAuthority } from './authority.ts'
import type { CertificateNames } from './certificate-names.ts'
import { issueForKey } from './issue.ts'

const NODE = nodeUserName('')

/** The usages that a certificate must have, by signer. */
const REQUIRED_USAGES: Readonly<Record<string, readonly string[]>> = {
  [KUBELET_SIGNERS.client]: ['digital signature', 'client auth'],
  [KUBELET_SIGNERS.serving]: ['digital signature', 'server auth'],
}
/** The usage that it may have. */
const OPTIONAL_USAGE = 'key encipherment'

/** The subresources by which Kubernetes permits a user to have a request of the right form approved. */
type NodeClientPermission = 'nodeclient' | 'selfnodeclient'

/** What decides on an approval, in addition to the request. */
export interface ApprovalFacts {
  /** Whether a user may have a request for the client certificate of a node approved. */
  readonly permits: (user: User, permission: NodeClientPermission) => Promise<boolean>
  /** The names and addresses of API servers, for which no kubelet gets a certificate. */
  readonly reserved: CertificateNames
  /** The addresses of the user's Node that no other Node has. */
  readonly addresses: readonly string[]
}

/** Why a request is approved, as Kubernetes words it; undefined: it is not. */
export async function approvalOf(
  request: SigningRequest,
  facts: ApprovalFacts,
): Promise<string | undefined> {
  const read = await readRequest(request)
  if ('problem' in read) return undefined
  if (request.signerName === KUBELET_SIGNERS.serving) return servingApproval(request, read, facts)
  const { user } = request
  if (read.user === user.name && (await facts.permits(user, 'selfnodeclient'))) {
    return 'Auto approving self kubelet client certificate: the user is the node that it requests.'
  }
  if (await facts.permits(user, 'nodeclient')) {
    return 'Auto approving kubelet client certificate: a role permits the user to request it.'
  }
  return undefined
}

/** A node gets a certificate only for its own name and addresses. */
function servingApproval(
  { user }: SigningRequest,
  { dns, ips }: ReadRequest,
  { addresses, reserved }: ApprovalFacts,
): string | undefined {
  const node = nodeOfUser(user)
  const isOwnName = (name: string): boolean => name === node && !reserved.dns.includes(name)
  const isOwnAddress = (ip: string): boolean => addresses.includes(ip) && !reserved.ips.includes(ip)
  if (node === undefined || !dns.every(isOwnName) || !ips.every(isOwnAddress)) return undefined
  return 'Auto approving kubelet serving certificate: it names the node and its addresses, and nothing else.'
}

/** Who signs, and for how long. */
export interface Signer {
  readonly issuer: InstalledAuthority
  /** The longest life of a certificate, in milliseconds. */
  readonly maxLife: number
}

/** The certificate in PEM, or why it is not issued. */
export async function signRequest(
  request: SigningRequest,
  { issuer, maxLife }: Signer,
  now: number,
): Promise<{ readonly certificate: string } | { readonly problem: string }> {
  const read = await readRequest(request)
  if ('problem' in read) return read
  const { user, dns, ips, publicKey } = read
  const wished = (request.expirationSeconds ?? Number.POSITIVE_INFINITY) * 1000
  const left = issuer.certificate.validToDate.getTime() - now
  const certificate = await issueForKey(
    {
      issuer,
      publicKey,
      user,
      groups: [NODES],
      life: Math.min(wished, maxLife, left),
      names: request.signerName === KUBELET_SIGNERS.serving ? { dns, ips } : undefined,
      hasKeyEncipherment: request.usages.includes(OPTIONAL_USAGE),
    },
    now,
  )
  return { certificate }
}

/** A request of the form that kubelets have. */
interface ReadRequest {
  /** The user of the node, from the common name. */
  readonly user: string
  readonly dns: readonly string[]
  /** In canonical form. */
  readonly ips: readonly string[]
  readonly publicKey: CryptoKey
}

/** Reads a request; the problem if it is not one that a kubelet makes for this signer. */
async function readRequest(
  request: SigningRequest,
): Promise<ReadRequest | { readonly problem: string }> {
  const required = REQUIRED_USAGES[request.signerName]
  if (required === undefined) return { problem: 'this server does not sign for this signer' }
  const parsed = await parse(request.request)
  if (parsed === undefined) {
    return { problem: 'the request is damaged, or not signed with the key that it names' }
  }
  const { csr, publicKey } = parsed
  const [user = '', ...more] = csr.subjectName.getField('CN')
  const isNode = user.startsWith(NODE) && user.length > NODE.length && more.length === 0
  if (!isNode) return { problem: `the common name must be ${NODE}NAME` }
  if (csr.subjectName.getField('O').join('\n') !== NODES) {
    return { problem: `the organization must be ${NODES}` }
  }
  const allowed = [...required, OPTIONAL_USAGE]
  const isUsable =
    required.every((one) => request.usages.includes(one)) &&
    request.usages.every((one) => allowed.includes(one))
  if (!isUsable) return { problem: `the usages must be ${allowed.join(', ')}` }
  const names = csr.extensions.flatMap((extension) =>
    extension instanceof SubjectAlternativeNameExtension ? extension.names.items : [],
  )
  const dns = names.filter(({ type }) => type === 'dns').map(({ value }) => value)
  const ips = names.filter(({ type }) => type === 'ip').map(({ value }) => parseIp(value) ?? value)
  const read = { user, dns, ips, publicKey }
  if (request.signerName === KUBELET_SIGNERS.client) {
    return names.length === 0 ? read : { problem: 'a client certificate has no alternative names' }
  }
  if (user !== request.user.name) {
    return { problem: 'only the node itself may request its serving certificate' }
  }
  const isNamed = names.length > 0 && names.length === dns.length + ips.length
  return isNamed ? read : { problem: 'the alternative names must be DNS names or IP addresses' }
}

async function parse(base64: string) {
  try {
    const csr = new Pkcs10CertificateRequest(Buffer.from(base64, 'base64').toString())
    if (!(await csr.verify())) return undefined
    return { csr, publicKey: await csr.publicKey.export() }
  } catch {
    return undefined
  }
}
