import { expect, test } from 'vitest'
import {
  anonymous,
  bearer,
  type CredentialSource,
  fixedCredential,
} from '../../client/connection/credential/credential.ts'
import { ClusterEvidence } from '../../doctor/evidence/cluster-evidence.ts'
import { issueClient } from '../../orchserver/certificates/issue.ts'
import { newKey } from '../../orchserver/certificates/pem.ts'
import type { CommandContext } from '../session/command-module.ts'
import { ownCredential } from './inspected-token.ts'

const NOW = Date.now()

function tokenOf(claims: object): string {
  const parts = [{ alg: 'none' }, claims].map((one) =>
    Buffer.from(JSON.stringify(one)).toString('base64url'),
  )
  return `${parts.join('.')}.AAAA`
}

async function certificateFor(life: number): Promise<string> {
  const issuer = { subject: 'CN=test', key: newKey() }
  return issueClient({ issuer, key: newKey(), user: 'anne', groups: [], life }, NOW)
}

function found(credentials: CredentialSource, cert?: string) {
  const tls = { material: async () => ({ ca: undefined, cert, key: undefined }) }
  const connection = { credentials, tls, origin: 'https://api', source: '/home/anne/.kube/config' }
  const context = { session: async () => ({ connection }) } as unknown as CommandContext
  return ownCredential(new ClusterEvidence({}), context)
}

test('a token: what its claims show', async () => {
  const of = (claims: object) => found(fixedCredential(bearer(tokenOf(claims))))
  expect(await of({ exp: 1_000 })).toMatchObject({
    check: 'token-expired',
    cause: 'the token expired at 1970-01-01T00:16:40Z',
  })
  expect(await of({ aud: ['vault'] })).toMatchObject({
    check: 'token-rejected',
    evidence: expect.arrayContaining(['it is for "vault"']),
  })
})

test('a client certificate that has ended; one that has not; none', async () => {
  expect(await found(anonymous, await certificateFor(-60_000))).toMatchObject({
    check: 'own-credential',
    cause: expect.stringMatching(/^the client certificate expired at 2/),
    evidence: ['401 from https://api, which is the server of /home/anne/.kube/config'],
  })
  expect(await found(anonymous, await certificateFor(60_000))).toMatchObject({
    cause: 'the API server does not accept the credential',
  })
  expect(await found(anonymous)).toMatchObject({
    cause: 'there is no credential for the API server, which requires one',
  })
})

test('an opaque token is not shown', async () => {
  const finding = await found(fixedCredential(bearer('hunter2')))
  expect(finding.cause).toBe('the API server does not accept the credential')
  expect(JSON.stringify(finding)).not.toContain('hunter2')
})
