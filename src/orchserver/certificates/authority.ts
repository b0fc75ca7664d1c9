import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { belongTogether, certificateBlocks, certificateFault } from '../../lib/tls/pem.ts'
import { createPrivateFile, writePrivateFile } from '../system/private-file.ts'
import { isDue } from './certificate-validity.ts'
import { newKey, readIfPresent, readPem, unusable } from './pem.ts'

/** The certificate authority of one installation. */
export interface InstalledAuthority {
  readonly subject: string
  /** PEM. */
  readonly key: string
  /** PEM: the certificate of `key` first, then further authorities that are trusted while one replaces the other. */
  readonly cert: string
  readonly certificate: X509Certificate
}

/**
 * The authority of a folder; the first call creates it. Its key and its name never change. So the certificates
 * that it issued stay valid when its own certificate is renewed, and clients need the renewed one only when the
 * old one expires. When several callers create it at the same time, all of them get the one that was created first.
 * Further certificates in its file, which an operator adds to replace the authority, are kept.
 */
export async function openAuthority(folder: string, now: number): Promise<InstalledAuthority> {
  const files = { cert: join(folder, 'ca.crt'), key: join(folder, 'ca.key') }
  const cert = await readIfPresent(files.cert)
  const key = (await readIfPresent(files.key)) ?? (await firstKey(files, cert))
  if (!isOfOurKind(key)) throw unusable(files.key, 'holds no private key of P-256', adviceOn(files))
  const kept = cert === undefined ? undefined : checked(files, cert, key)
  if (kept !== undefined && !isDue(kept.certificate, now)) return kept
  const subject = kept?.subject ?? `CN=orch-server authority ${randomBytes(4).toString('hex')}`
  const { issueAuthority } = await import('./issue.ts')
  const made = await issueAuthority({ ...kept, subject, key }, now)
  const renewed = [made, ...certificateBlocks(cert ?? '').slice(1)].join('\n')
  if (kept !== undefined) await writePrivateFile(files.cert, renewed)
  else if (!(await createPrivateFile(files.cert, renewed))) return openAuthority(folder, now)
  return { subject, key, cert: renewed, certificate: new X509Certificate(made) }
}

/**
 * The authority that is already in this folder. Creates and renews nothing, so a server may be running.
 * @throws NP_ORCHSERVER_CERTIFICATE
 */
export async function readAuthority(folder: string): Promise<InstalledAuthority> {
  const files = { cert: join(folder, 'ca.crt'), key: join(folder, 'ca.key') }
  const cert = await readIfPresent(files.cert)
  if (cert === undefined) {
    const hint = 'check --data-dir; the first start of orch-server creates the authority there'
    throw unusable(files.cert, 'does not exist', hint)
  }
  const key = await readIfPresent(files.key)
  if (key === undefined) throw unusable(files.key, 'does not exist', adviceOn(files))
  return checked(files, cert, key)
}

function checked(files: Files, cert: string, key: string): InstalledAuthority {
  if (!isOfOurKind(key)) throw unusable(files.key, 'holds no private key of P-256', adviceOn(files))
  const fault = certificateFault(cert)
  if (fault !== undefined) throw unusable(files.cert, fault, adviceOn(files))
  if (!belongTogether(cert, key)) throw mismatch(files)
  const certificate = new X509Certificate(cert)
  return { subject: certificate.subject, key, cert, certificate }
}

interface Files {
  readonly cert: string
  readonly key: string
}

async function firstKey(files: Files, cert: string | undefined): Promise<string> {
  if (cert !== undefined) throw unusable(files.key, 'does not exist', adviceOn(files))
  const key = newKey()
  return (await createPrivateFile(files.key, key)) ? key : readPem(files.key)
}

/** Whether a key is a private key on P-256, the kind that issues certificates here. */
function isOfOurKind(key: string): boolean {
  try {
    return createPrivateKey(key).asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}

function mismatch(files: Files): Error {
  return unusable(files.cert, `is not the certificate of ${files.key}`, adviceOn(files))
}

function adviceOn({ cert, key }: Files): string {
  return `restore ${cert} and ${key}, or remove both: orch-server then creates a new authority, which clients have to trust`
}
