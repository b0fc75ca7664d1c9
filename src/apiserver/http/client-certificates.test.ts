import { Agent, request } from 'node:https'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { issueAuthority, issueClient, issueServer } from '../../orchserver/certificates/issue.ts'
import { newKey } from '../../orchserver/certificates/pem.ts'
import { startIdentityApi } from '../testing/identity-api.ts'
import { PODS } from '../testing/test-api.ts'

const now = Date.now()
const HOUR = 3_600_000
const authority = { subject: 'CN=ours', key: newKey() }
const ca = await issueAuthority(authority, now)
const foreign = { subject: 'CN=ours', key: newKey() }

/** A server with TLS that knows the clients of our authority. */
async function startTls(clock = systemClock) {
  const key = newKey()
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] }
  const cert = await issueServer({ issuer: authority, key, names }, now)
  const api = await startIdentityApi([], { clock })
  const { port } = await api.server.listen({ tls: { cert, key }, clientAuthorities: ca })
  return { port, server: { cert, key } }
}

interface ClientName {
  readonly user: string
  readonly groups: readonly string[]
  readonly issuer?: typeof authority
  readonly life?: number
}

async function clientCertificate({ user, groups, issuer = authority, life = HOUR }: ClientName) {
  const key = newKey()
  return { key, cert: await issueClient({ issuer, key, user, groups, life }, now) }
}

/** A request with a certificate; `agent` keeps connections and TLS sessions. */
function get(
  port: number,
  certificate: { readonly cert: string; readonly key: string } | undefined,
  agent?: Agent,
): Promise<{ readonly status: number; readonly text: string; readonly isResumed: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof get>>>()
  const options = { host: '127.0.0.1', port, path: PODS, ca, ...certificate }
  request({ ...options, agent: agent ?? new Agent() }, (response) => {
    const isResumed = (response.socket as TLSSocket).isSessionReused()
    const status = response.statusCode ?? 0
    text(response).then((body) => resolve({ status, text: body, isResumed }), reject)
  })
    .on('error', reject)
    .end()
  return promise
}

test('a certificate of our authority says which user and groups a client is', async () => {
  const { port } = await startTls()
  const root = await clientCertificate({ user: 'root', groups: ['system:masters'] })
  const ann = await clientCertificate({ user: 'ann, O=system:masters', groups: ['dev'] })
  expect((await get(port, root)).status).toBe(200)
  const refused = await get(port, ann)
  expect(refused.status).toBe(403)
  expect(JSON.parse(refused.text)).toMatchObject({
    message: expect.stringContaining('User "ann, O=system:masters" cannot list'),
  })
})

test('a certificate proves nothing that is foreign, expired, or that of a server', async () => {
  const { port, server } = await startTls()
  const masters = { user: 'root', groups: ['system:masters'] }
  const certificates = [
    undefined,
    await clientCertificate({ ...masters, issuer: foreign }),
    await clientCertificate({ ...masters, life: -1 }),
    server,
  ]
  for (const certificate of certificates) {
    expect((await get(port, certificate)).status).toBe(401)
  }
})

test('a resumed TLS session has the user of the first one, and no other', async () => {
  const { port } = await startTls()
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 10 })
  onTestFinished(() => agent.destroy())
  const root = await clientCertificate({ user: 'root', groups: ['system:masters'] })
  const answers = []
  for (let count = 0; count < 3; count++) answers.push(await get(port, root, agent))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(answers.some(({ isResumed }) => isResumed)).toBe(true)
  expect((await get(port, undefined, agent)).status).toBe(401)
})

test('a certificate that ends while its connection stays open is not accepted any more', async () => {
  let passed = 0
  const { port } = await startTls({ ...systemClock, now: () => Date.now() + passed })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const root = await clientCertificate({ user: 'root', groups: ['system:masters'] })
  expect((await get(port, root, agent)).status).toBe(200)
  passed = HOUR + 60_000
  expect((await get(port, root, agent)).status).toBe(401)
  passed = 0
  expect((await get(port, root, agent)).status).toBe(200)
})
