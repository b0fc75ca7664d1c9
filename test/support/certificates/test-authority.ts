import {
  type Authority,
  issueAuthority,
  issueClient,
  issueServer,
} from '../../../src/orchserver/certificates/issue.ts'
import { newKey } from '../../../src/orchserver/certificates/pem.ts'

const HOUR = 3_600_000

/** A certificate and its private key, PEM. */
export interface Issued {
  readonly cert: string
  readonly key: string
}

/** An authority of another organization, which issues certificates for servers and for users. */
export interface TestAuthority {
  /** PEM. */
  readonly cert: string
  /** A certificate for an address or several, by default the loopback; issued now, or at another time. */
  server(address?: string | readonly string[], at?: number): Promise<Issued>
  client(user: string, groups?: readonly string[]): Promise<Issued>
}

export async function newTestAuthority(name: string): Promise<TestAuthority> {
  const issuer: Authority = { subject: `CN=${name}`, key: newKey() }
  return {
    cert: await issueAuthority(issuer, Date.now()),
    async server(address = '127.0.0.1', at = Date.now()) {
      const key = newKey()
      const names = { dns: ['localhost'], ips: [address].flat() }
      return { key, cert: await issueServer({ issuer, key, names }, at) }
    },
    async client(user, groups = []) {
      const key = newKey()
      return { key, cert: await issueClient({ issuer, key, user, groups, life: HOUR }, Date.now()) }
    },
  }
}
