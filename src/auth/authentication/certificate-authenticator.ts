import type { CertificateSubject } from '../../lib/tls/peer-subject.ts'
import { AUTHENTICATED } from '../user.ts'
import type { Authentication, Authenticator, Credentials } from './authenticator.ts'

/** Cached by connection: every request of a connection has the same certificate. */
const KNOWN = new WeakMap<CertificateSubject, Authentication>()

/** The user is the common name of the certificate, its groups are the organizations. */
export const certificateAuthenticator: Authenticator = {
  authenticate({ certificate }: Credentials): Promise<Authentication | undefined> {
    if (certificate === undefined) return Promise.resolve(undefined)
    const known = KNOWN.get(certificate) ?? authenticationOf(certificate)
    KNOWN.set(certificate, known)
    return Promise.resolve(known)
  },
}

function authenticationOf({ commonNames, organizations }: CertificateSubject): Authentication {
  const [name = '', ...others] = commonNames
  if (name === '' || others.length > 0) {
    return { rejected: 'the client certificate must have one common name' }
  }
  return { user: { name, groups: [...new Set([...organizations, AUTHENTICATED])] } }
}
