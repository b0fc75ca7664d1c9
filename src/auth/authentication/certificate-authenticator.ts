import { AUTHENTICATED } from '../user.ts'
import type { Authentication, Authenticator, Credentials } from './authenticator.ts'

/** The user is the common name of the certificate, its groups are the organizations. */
export const certificateAuthenticator: Authenticator = {
  authenticate({ certificate }: Credentials): Promise<Authentication | undefined> {
    if (certificate === undefined) return Promise.resolve(undefined)
    const [name = '', ...others] = certificate.commonNames
    if (name === '' || others.length > 0) {
      return Promise.resolve({ rejected: 'the client certificate must have one common name' })
    }
    const groups = [...new Set([...certificate.organizations, AUTHENTICATED])]
    return Promise.resolve({ user: { name, groups } })
  },
}
