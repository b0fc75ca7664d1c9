import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { startIdentityApi } from '../../apiserver/testing/identity-api.ts'
import { PODS } from '../../apiserver/testing/test-api.ts'
import { issueAuthority, issueClient, issueServer } from './issue.ts'
import { newKey } from './pem.ts'

const now = Date.now()
const issuer = { subject: 'CN=ours', key: newKey() }
const ca = await issueAuthority(issuer, now)

/** Names that a reader of distinguished names would take for something else. */
const NAMES = [
  'ann, O=system:masters',
  'a"system:masters"',
  '"orch-admin"',
  '#0c0a6f7263682d61646d696e',
  'a\\0ab\\2c',
  'a+O=b;c<d>e=f/g',
  ' blank at both ends ',
  'Åsa 李 \u{1F600}',
  'n'.repeat(300),
]

async function certificateOf(user: string, groups: readonly string[]) {
  const key = newKey()
  return { key, cert: await issueClient({ issuer, key, user, groups, life: 3_600_000 }, now) }
}

it.each(NAMES)('a certificate names the user and the groups exactly: %s', async (name) => {
  const { cert } = await certificateOf(name, [name, 'dev'])
  expect(new X509Certificate(cert).toLegacyObject().subject).toMatchObject({
    CN: name,
    O: [name, 'dev'],
  })
})

it('the API server knows a client by exactly these names', async () => {
  const key = newKey()
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] }
  const cert = await issueServer({ issuer, key, names }, now)
  const api = await startIdentityApi()
  const { port } = await api.server.listen({ tls: { cert, key }, clientAuthorities: ca })
  for (const name of NAMES) {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const client = await certificateOf(name, [name])
    request({ host: '127.0.0.1', port, path: PODS, ca, ...client }, (response) => {
      text(response).then(resolve, reject)
    })
      .on('error', reject)
      .end()
    expect(JSON.parse(await promise)).toMatchObject({
      code: 403,
      message: expect.stringContaining(`User ${JSON.stringify(name)} cannot list`),
    })
  }
})
