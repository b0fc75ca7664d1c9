import 'reflect-metadata'
import { createPrivateKey, createPublicKey, randomBytes, type X509Certificate } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
  X509Certificate as X509Reader,
} from '@peculiar/x509'
import type { CertificateNames } from './certificate-names.ts'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY = 86_400_000
const AUTHORITY_LIFE = 3650 * DAY
const SERVER_LIFE = 365 * DAY
/** Certificates are valid from this many milliseconds before their creation, for clients whose clocks are behind. */
const LATE_CLOCKS = 3_600_000

export interface Authority {
  /** The distinguished name, such as `CN=…`. */
  readonly subject: string
  /** Its private key: PEM, P-256. */
  readonly key: string
  /**
   * The existing certificate of the authority. Its subject is used instead of `subject`: some clients compare names
   * byte for byte, and another program may have encoded the same name with another string type.
   */
  readonly certificate?: X509Certificate
}

/** The root certificate of an authority, in PEM. The authority may not issue certificates for other authorities. */
export async function issueAuthority(authority: Authority, now: number): Promise<string> {
  return issue({
    subject: nameOfAuthority(authority),
    key: authority.key,
    issuer: authority,
    life: { from: now - LATE_CLOCKS, until: now + AUTHORITY_LIFE },
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  })
}

export interface ServerRequest {
  readonly issuer: Authority
  /** The server's key: PEM, P-256. */
  readonly key: string
  readonly names: CertificateNames
  /** The common name; `orch-server` by default. */
  readonly subject?: string
  /** Milliseconds from now until the certificate expires; 365 days by default. */
  readonly life?: number
}

/** A serving certificate for these names, in PEM. */
export async function issueServer(request: ServerRequest, now: number): Promise<string> {
  const { issuer, key, names, subject = 'orch-server', life = SERVER_LIFE } = request
  return issue({
    subject: nameOf(subject, []),
    key,
    issuer,
    life: { from: now - LATE_CLOCKS, until: now + life },
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      alternativeNames(names),
    ],
  })
}

export interface ClientRequest {
  readonly issuer: Authority
  /** The client's key: PEM, P-256. */
  readonly key: string
  /** The name of the user; it becomes the common name. */
  readonly user: string
  readonly groups: readonly string[]
  /** Milliseconds from now until the certificate expires. */
  readonly life: number
}

/** A client certificate for a user with groups, in PEM. */
export async function issueClient(request: ClientRequest, now: number): Promise<string> {
  const { issuer, key, user, groups, life } = request
  return issue({
    subject: nameOf(user, groups),
    key,
    issuer,
    life: { from: now - LATE_CLOCKS, until: now + life },
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
    ],
  })
}

/** A certificate for a key that another program holds. */
export interface KeyRequest extends Omit<ClientRequest, 'key'> {
  readonly publicKey: CryptoKey
  /** The names of a serving certificate; undefined: it is a client certificate. */
  readonly names: CertificateNames | undefined
  /** Whether the key may encrypt other keys, as RSA did before TLS 1.3. */
  readonly hasKeyEncipherment: boolean
}

/**
 * A client or serving certificate for a public key, in PEM. It begins at most a tenth of its life before now: a kubelet
 * renews a certificate when a certain share of its whole life is over. If that share were over when the certificate is
 * issued, the kubelet would renew it without end.
 */
export async function issueForKey(request: KeyRequest, now: number): Promise<string> {
  const { issuer, publicKey, user, groups, life, names, hasKeyEncipherment } = request
  const { serverAuth, clientAuth } = ExtendedKeyUsage
  return issueFor(publicKey, {
    subject: nameOf(user, groups),
    issuer,
    life: { from: now - Math.min(LATE_CLOCKS, life / 10), until: now + life },
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      hasKeyEncipherment
        ? new KeyUsagesExtension(
            KeyUsageFlags.digitalSignature | KeyUsageFlags.keyEncipherment,
            true,
          )
        : new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([names === undefined ? clientAuth : serverAuth]),
      ...(names === undefined ? [] : [alternativeNames(names)]),
    ],
  })
}

function alternativeNames({ dns, ips }: CertificateNames): Extension {
  return new SubjectAlternativeNameExtension([
    ...dns.map((value) => ({ type: 'dns' as const, value })),
    ...ips.map((value) => ({ type: 'ip' as const, value })),
  ])
}

function nameOfAuthority({ subject, certificate }: Authority): string | Name {
  return certificate === undefined ? subject : new X509Reader(certificate.raw).subjectName
}

/** The subject as an object. Text would be parsed, and only the quoted part of a name with quotes would remain. */
function nameOf(user: string, groups: readonly string[]): Name {
  const organizations = groups.map((group) => ({ O: [{ utf8String: group }] }))
  return new Name([{ CN: [{ utf8String: user }] }, ...organizations])
}

interface Content {
  readonly subject: string | Name
  readonly issuer: Authority
  /** Milliseconds since the Unix epoch. */
  readonly life: { readonly from: number; readonly until: number }
  readonly extensions: readonly Extension[]
}

function issue({ key, ...content }: Content & { readonly key: string }): Promise<string> {
  return issueFor(publicKeyOf(key), content)
}

async function issueFor(
  publicKey: CryptoKey,
  { subject, issuer, life, extensions }: Content,
): Promise<string> {
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject,
    issuer: nameOfAuthority(issuer),
    notBefore: new Date(life.from),
    notAfter: new Date(life.until),
    signingAlgorithm: ALGORITHM,
    publicKey,
    signingKey: createPrivateKey(issuer.key).toCryptoKey(ALGORITHM, false, ['sign']),
    extensions: [
      ...extensions,
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(publicKeyOf(issuer.key)),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

function publicKeyOf(key: string): CryptoKey {
  return createPublicKey(key).toCryptoKey(ALGORITHM, true, ['verify'])
}

/** A positive number with 126 random bits, so that no two certificates have the same one (RFC 5280 §4.1.2.2). */
function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x3f) | 0x40
  return bytes.toString('hex')
}
