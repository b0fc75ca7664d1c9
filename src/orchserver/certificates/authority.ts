import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { writePrivateFile } from '../system/private-file.ts'
import { belongTogether, isDue } from './certificate-validity.ts'
import { newKey, readIfPresent, unusable } from './pem.ts'

/** The certificate authority of one installation. */
export interface InstalledAuthority {
  readonly subject: string
  /** PEM. */
  readonly key: string
  /** PEM. */
  readonly cert: string
  readonly certificate: X509Certificate
}

/**
 * The authority of a folder, made the first time. It keeps its key and its name
 * for ever: what it issued stays good when its own certificate is renewed, and
 * clients that trust the old one need the new one only when the old one ends.
 */
export async function openAuthority(folder: string, now: number): Promise<InstalledAuthority> {
  const files = { cert: join(folder, 'ca.crt'), key: join(folder, 'ca.key') }
  const cert = await readIfPresent(files.cert)
  const key = (await readIfPresent(files.key)) ?? (await firstKey(files, cert))
  if (!isOfOurKind(key)) throw unusable(files.key, 'holds no private key of P-256', adviceOn(files))
  if (cert !== undefined && !belongTogether(cert, key)) throw mismatch(files)
  const kept = cert === undefined ? undefined : new X509Certificate(cert)
  if (cert !== undefined && kept !== undefined && !isDue(kept, now)) {
    return { subject: kept.subject, key, cert, certificate: kept }
  }
  const subject = kept?.subject ?? `CN=orch-server authority ${randomBytes(4).toString('hex')}`
  const { issueAuthority } = await import('./issue.ts')
  const made = await issueAuthority({ subject, key }, now)
  await writePrivateFile(files.cert, made)
  return { subject, key, cert: made, certificate: new X509Certificate(made) }
}

interface Files {
  readonly cert: string
  readonly key: string
}

async function firstKey(files: Files, cert: string | undefined): Promise<string> {
  if (cert !== undefined) throw unusable(files.key, 'does not exist', adviceOn(files))
  const key = newKey()
  await writePrivateFile(files.key, key)
  return key
}

/** What certificates are issued with. */
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
  return `put back what belongs there, or remove ${cert} and ${key}: a new authority is made, which clients must be told to trust`
}
