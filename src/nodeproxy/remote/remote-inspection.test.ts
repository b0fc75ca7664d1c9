import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { startCluster } from '../../../test/support/inspection/cluster.ts'
import {
  type RemoteNodeOptions,
  startRemoteNode,
} from '../../../test/support/inspection/remote-node.ts'
import { anonymous } from '../../client/connection/credential/credential.ts'
import { createApiClient } from '../../client/http/api-client.ts'
import { fakeSource } from '../../inspection/http/testing/source.ts'
import { systemClock } from '../../lib/clock.ts'
import { stringAt } from '../../lib/json.ts'

const STATUS = '/inspection/v1/status'
const authority = await newTestAuthority('nodes')
const trusts = authority.cert

async function start(more: Partial<RemoteNodeOptions> = {}) {
  const cluster = await startCluster()
  const node = await startRemoteNode({ cluster, serving: await authority.server(), ...more })
  const status = (token?: string) =>
    node.call(STATUS, { trusts, ...(token !== undefined && { token }) })
  return { cluster, ...node, status }
}

test('a caller that may get nodes/proxy of this node reads it; all others learn why not', async () => {
  const { status, lines } = await start()
  expect(await status('reader')).toMatchObject({
    code: 200,
    body: expect.stringContaining('1.2.3'),
  })
  const none = await status()
  expect([none.code, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="node-proxy"'])
  expect(none.body).toContain('NP_INSPECTION_UNAUTHORIZED')
  expect((await status('secret-guess')).code).toBe(401)
  for (const user of ['outsider', 'elsewhere']) {
    const { code, body } = await status(user)
    expect([code, body]).toEqual([
      403,
      expect.stringMatching(`user ."${user}." may not get nodes/proxy of node ."n1`),
    ])
  }
  const refused = lines.filter((line) => line.includes('was refused'))
  expect(refused).toHaveLength(2)
  expect(refused[1]).toMatch(
    /"client":"127\.0\.0\.1","path":"\\"\/inspection\/v1\/status\\"","status":403/,
  )
  expect(lines.join('\n')).not.toContain('secret-guess')
})

test('tokens of accounts: forged, expired, of another audience, and of a deleted account are refused', async () => {
  const { cluster, status, clock } = await start()
  const { api } = cluster
  const accounts = '/api/v1/namespaces/default/serviceaccounts'
  await api.make(accounts, { metadata: { name: 'robot' } })
  await api.make('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'robot' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'ServiceAccount', name: 'robot', namespace: 'default' }],
  })
  const token = await api.tokenFor('default', 'robot')
  await expect
    .poll(async () => (await status(await api.tokenFor('default', 'robot'))).code)
    .toBe(200)
  const [head = '', payload = '', signature = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>
  const forged = Buffer.from(JSON.stringify({ ...claims, sub: 'x' })).toString('base64url')
  expect((await status(`${head}.${forged}.${signature}`)).code).toBe(401)
  const request = async (spec: object) => {
    const body = { spec: { ...spec } }
    const answer = await api.as('root', 'POST', `${accounts}/robot/token`, { body })
    return stringAt(answer.body, 'status', 'token')
  }
  expect((await status(await request({ audiences: ['elsewhere'] }))).code).toBe(401)
  expect((await status(token)).code).toBe(200)
  await api.as('root', 'DELETE', `${accounts}/robot`)
  // The answer is kept for two minutes, and not for longer.
  clock.elapse(119_000)
  expect((await status(token)).code).toBe(200)
  clock.elapse(1_001)
  await expect.poll(async () => (await status(token)).code).toBe(401)
})

test('a clock that is set back keeps no answer longer', async () => {
  const { cluster, status, clock, setBack } = await start()
  await status('reader')
  setBack(3_600_000)
  clock.elapse(120_001)
  cluster.posted.length = 0
  await status('reader')
  expect(cluster.posted).toEqual(['/apis/authentication.k8s.io/v1/tokenreviews'])
})

test('answers are kept: one review of each kind for many requests, until their time is over', async () => {
  const { cluster, status, clock } = await start()
  await Promise.all([1, 2, 3].map(() => status('reader')))
  await status('reader')
  expect(cluster.posted).toEqual([
    '/apis/authentication.k8s.io/v1/tokenreviews',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  ])
  clock.elapse(120_001)
  await status('reader')
  expect(cluster.posted.slice(2)).toEqual(['/apis/authentication.k8s.io/v1/tokenreviews'])
  clock.elapse(180_000)
  await status('reader')
  expect(cluster.posted.slice(3).toSorted()).toEqual([
    '/apis/authentication.k8s.io/v1/tokenreviews',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
  ])
  await status('outsider')
  clock.elapse(30_001)
  cluster.posted.length = 0
  await status('outsider')
  expect(cluster.posted).toEqual(['/apis/authorization.k8s.io/v1/subjectaccessreviews'])
})

test('without the API server a caller is refused, and let in again once it answers', async () => {
  const { cluster, ...node } = await start()
  let isAway = true
  const away = createApiClient({
    connection: {
      origin: 'http://127.0.0.1:1',
      basePath: '',
      tls: undefined,
      credentials: anonymous,
      source: '',
    },
    clock: systemClock,
    userAgent: 'test',
  })
  const create = (...args: Parameters<typeof away.create>) =>
    (isAway ? away : cluster.client).create(...args)
  const { call } = await startRemoteNode({
    cluster: { client: { ...cluster.client, create } },
    serving: await authority.server(),
  })
  const refused = await call(STATUS, { token: 'reader', trusts })
  expect([refused.code, refused.body]).toEqual([
    503,
    expect.stringMatching(/NP_INSPECTION_UNCHECKED.*TokenReview failed/),
  ])
  isAway = false
  expect((await call(STATUS, { token: 'reader', trusts })).code).toBe(200)
  expect(node.conditions.size).toBe(0)
})

test('a node-proxy that may not create reviews says which role it needs', async () => {
  const { cluster, call } = await start()
  await cluster.api.as(
    'root',
    'DELETE',
    '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/node-proxy',
  )
  await expect
    .poll(async () => (await call(STATUS, { token: `reader-${Math.random()}`, trusts })).body)
    .toMatch(/403 Forbidden.*bind system:auth-delegator to node-proxy/)
})

test('client certificates name users; those of other authorities and ended ones count for nothing', async () => {
  const [clients, others] = [await newTestAuthority('clients'), await newTestAuthority('others')]
  const { call, clock } = await start({ clientAuthority: clients.cert })
  const as = async (client: { cert: string; key: string }) =>
    (await call(STATUS, { client, trusts })).code
  const reader = await clients.client('reader')
  expect(await as(reader)).toBe(200)
  expect(await as(await clients.client('outsider', ['people']))).toBe(403)
  expect(await as(await clients.client('some', ['system:masters']))).toBe(200)
  expect(await as(await others.client('reader'))).toBe(401)
  expect(
    (await call(STATUS, { client: await others.client('outsider'), token: 'reader', trusts })).code,
  ).toBe(200)
  clock.elapse(2 * 3_600_000)
  expect(await as(reader)).toBe(401)
})

test('without inspection.clientCAFile no certificate counts, of whatever authority', async () => {
  const { call } = await start()
  expect((await call(STATUS, { client: await authority.client('reader'), trusts })).code).toBe(401)
})

test('replaced files are taken over; unusable ones are a condition, and the last stay in use', async () => {
  const other = await newTestAuthority('next')
  const { clock, write, paths, call, conditions } = await start()
  const isServedBy = (ca: string) =>
    call(STATUS, { token: 'reader', trusts: ca }).then(
      ({ code }) => code === 200,
      () => false,
    )
  expect([await isServedBy(trusts), await isServedBy(other.cert)]).toEqual([true, false])
  const next = await other.server()
  writeFileSync(paths.cert, next.cert)
  await clock.advance(10_000)
  await expect
    .poll(() => conditions.get('inspection-certificate-unusable'))
    .toMatch(/does not belong to the key/)
  expect(await isServedBy(trusts)).toBe(true)
  write(next)
  await expect.poll(() => clock.pending()).not.toEqual([])
  await clock.advance(10_000)
  await expect.poll(() => isServedBy(other.cert)).toBe(true)
  expect([await isServedBy(trusts), conditions.size]).toEqual([false, 0])
  rmSync(paths.key)
  await expect.poll(() => clock.pending()).not.toEqual([])
  await clock.advance(10_000)
  await expect.poll(() => conditions.get('inspection-certificate-unusable')).toMatch(/ENOENT/)
  expect(await isServedBy(other.cert)).toBe(true)
})

test('clients of a removed authority are cut off, also those that are connected', async () => {
  const [clients, next] = [await newTestAuthority('clients'), await newTestAuthority('next')]
  const { port, paths, clock, call } = await start({ clientAuthority: clients.cert })
  const client = await clients.client('reader')
  const socket = connectTls({ port, host: '127.0.0.1', ca: trusts, ...client })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => undefined)
  await new Promise((resolve) => socket.once('secureConnect', resolve))
  expect((await call(STATUS, { client, trusts })).code).toBe(200)
  writeFileSync(paths.ca, next.cert)
  await clock.advance(10_000)
  await closed
  expect((await call(STATUS, { client, trusts })).code).toBe(401)
})

test('an answer that goes on ends when its reader may not read any more', async () => {
  const watched = { count: 0 }
  const source = fakeSource({
    watchChanges() {
      watched.count++
      return () => void watched.count--
    },
  })
  const { cluster, clock, call } = await start({ source })
  const ended = call('/inspection/v1/changes', { token: 'reader', trusts }).catch(() => 'cut')
  await expect.poll(() => watched.count).toBe(1)
  await cluster.api.as(
    'root',
    'DELETE',
    '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/reader',
  )
  clock.elapse(300_001)
  const later = async (): Promise<number> => {
    await clock.advance(30_000)
    return watched.count
  }
  await expect.poll(later, { interval: 20 }).toBe(0)
  expect(await ended).toBe('cut')
})

test('large headers are refused before anything is checked, and plain HTTP gets no answer', async () => {
  const { cluster, port, call } = await start()
  const headers = { 'X-Large': 'a'.repeat(20_000) }
  expect((await call(STATUS, { token: 'reader', trusts, headers })).code).toBe(431)
  expect(cluster.posted).toEqual([])
  const plain = connect(port, '127.0.0.1')
  plain.on('error', () => undefined)
  plain.write(`GET ${STATUS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer reader\r\n\r\n`)
  const received: Buffer[] = []
  plain.on('data', (part: Buffer) => received.push(part))
  await new Promise((resolve) => plain.once('close', resolve))
  expect(Buffer.concat(received).toString('latin1')).not.toContain('HTTP/1.1 200')
})

test('a missing certificate is a condition at the start, and serving begins when it is there', async () => {
  const serving = await authority.server()
  const { conditions, clock, write, status } = await start({ serving: { cert: '', key: '' } })
  expect(conditions.get('inspection-certificate-unusable')).toContain('holds no certificate in PEM')
  await expect(status('reader')).rejects.toThrow('ECONNREFUSED')
  write(serving)
  await clock.advance(10_000)
  await expect
    .poll(() =>
      status('reader').then(
        ({ code }) => code,
        () => 0,
      ),
    )
    .toBe(200)
})
