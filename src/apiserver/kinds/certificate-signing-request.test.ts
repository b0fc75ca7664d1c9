import { expect, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Raw } from '../../resources/reader.ts'
import { placesOf } from '../../resources/testing/raw-objects.ts'
import { startIdentityApi } from '../testing/identity-api.ts'
import { certificateSigningRequests } from './certificate-signing-request.ts'
import { validateObject } from './testing/rules-by-kind.ts'

const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const RBAC = '/apis/rbac.authorization.k8s.io/v1'
const HOUR = 3_600_000

const base64 = (text: string): string => Buffer.from(text).toString('base64')
/** In form a request; its content is for the signer to judge. */
const REQUEST = base64(
  '-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n',
)
const SPEC = { request: REQUEST, signerName: 'example.com/ours', usages: ['client auth'] }
const APPROVED = { type: 'Approved', status: 'True', reason: 'ByHand' }
const { cert } = await newTestAuthority('ca')

/** A server with the request `r` of alice; bob may decide on `example.com/*`, and carol sign for `example.com/ours`. */
async function startRequested() {
  const people = ['alice', 'bob', 'carol', 'eve'].map((name) => ({ name }))
  const api = await startIdentityApi(people)
  const apiGroup = 'rbac.authorization.k8s.io'
  const grant = async (name: string, verb: string, signer: string): Promise<void> => {
    const rules = [
      {
        apiGroups: ['certificates.k8s.io'],
        resources: [
          'certificatesigningrequests',
          'certificatesigningrequests/approval',
          'certificatesigningrequests/status',
        ],
        verbs: ['create', 'get', 'update', 'patch'],
      },
      {
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: [signer],
        verbs: [verb],
      },
    ]
    await api.make(`${RBAC}/clusterroles`, { metadata: { name }, rules })
    await api.make(`${RBAC}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: [{ apiGroup, kind: 'User', name }],
    })
  }
  await grant('alice', 'none', 'example.com/ours')
  await grant('bob', 'approve', 'example.com/*')
  await grant('carol', 'sign', 'example.com/ours')
  await grant('eve', 'approve', 'example.org/*')
  const body = {
    metadata: { name: 'r' },
    spec: { ...SPEC, username: 'root', groups: ['system:masters'] },
  }
  await expect.poll(async () => (await api.as('carol', 'GET', `${REQUESTS}/r`)).status).toBe(404)
  const made = await api.as('alice', 'POST', REQUESTS, { body })
  const read = async () => (await api.as('root', 'GET', `${REQUESTS}/r`)).body
  const write = async (
    user: string,
    subresource: string,
    change: (object: JsonObject) => JsonObject,
  ) => api.as(user, 'PUT', `${REQUESTS}/r${subresource}`, { body: change(await read()) })
  return { api, made, read, write }
}

const withStatus = (status: JsonObject) => (object: JsonObject) => ({ ...object, status })

test('the server names the user of a request, whatever the client says', async () => {
  const { made } = await startRequested()
  expect(made.body).toMatchObject({
    spec: { ...SPEC, username: 'alice', groups: ['system:authenticated'] },
    status: {},
  })
})

test('who may approve for the signer decides, and who may sign for it issues', async () => {
  const { write, read } = await startRequested()
  const approve = withStatus({ conditions: [APPROVED], certificate: base64(cert) })
  for (const user of ['carol', 'eve']) {
    expect((await write(user, '/approval', approve)).body).toMatchObject({
      code: 403,
      message: expect.stringContaining(
        'user not permitted to approve requests with signerName "example.com/ours"',
      ),
    })
  }
  expect((await write('bob', '/approval', approve)).status).toBe(200)
  const approved = await read()
  expect(approved['status']).toEqual({
    conditions: [{ ...APPROVED, lastTransitionTime: expect.any(String) as string }],
  })
  const issue = withStatus({ certificate: base64(cert) })
  expect((await write('bob', '/status', issue)).body).toMatchObject({
    code: 403,
    message: expect.stringContaining('permitted to sign'),
  })
  expect((await write('carol', '/status', issue)).status).toBe(200)
  expect((await read())['status']).toEqual({
    ...Object(approved['status']),
    certificate: base64(cert),
  })
})

test('what is decided, issued or requested stays so', async () => {
  const { write, read } = await startRequested()
  await write('bob', '/approval', withStatus({ conditions: [APPROVED] }))
  await write('carol', '/status', withStatus({ certificate: base64(cert) }))
  const before = await read()
  const undone = withStatus({ conditions: [] })
  expect((await write('bob', '/approval', undone)).body).toMatchObject({ code: 422 })
  const denied = withStatus({ conditions: [APPROVED, { type: 'Denied', status: 'True' }] })
  expect((await write('bob', '/approval', denied)).body).toMatchObject({ code: 422 })
  const other = withStatus({ certificate: base64(`${cert}\n`) })
  expect((await write('carol', '/status', other)).body).toMatchObject({ code: 422 })
  await write('alice', '', (object) => ({
    ...object,
    spec: { ...SPEC, signerName: 'example.com/other' },
  }))
  expect(await read()).toEqual(before)
})

test.each<[Raw, readonly string[]]>([
  [{ request: 'x' }, ['spec.request "x"']],
  [
    { request: base64('-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----') },
    [expect.stringContaining('spec.request')],
  ],
  [{ request: `${REQUEST}!` }, [expect.stringContaining('spec.request')]],
  [{ request: REQUEST.replace(/.{64}/g, '$&\n') }, []],
  [{ signerName: 'plain' }, ['spec.signerName "plain"']],
  [{ signerName: 'nodomain/x' }, ['spec.signerName "nodomain/x"']],
  [{ usages: [] }, ['spec.usages []']],
  [{ usages: ['any', 'any', 'x'] }, ['spec.usages[1] "any"', 'spec.usages[2] "x"']],
  [{ expirationSeconds: 599 }, ['spec.expirationSeconds 599']],
])('%j may not be requested', (spec, places) => {
  const object = { metadata: { name: 'r' }, spec: { ...SPEC, ...spec } }
  expect(placesOf(validateObject('CertificateSigningRequest', object))).toEqual(places)
})

test.each<[Raw, readonly string[]]>([
  [
    { conditions: [{ type: 'Approved', status: 'False' }] },
    ['status.conditions[0].status "False"'],
  ],
  [{ conditions: [{ type: 'Other', status: 'False' }] }, []],
  [{ conditions: [APPROVED, APPROVED] }, ['status.conditions[1].type "Approved"']],
  [{ certificate: base64('x') }, ['status.certificate "eA=="']],
])('the status %j is checked', (status, places) => {
  const object = { metadata: { name: 'r' }, spec: SPEC, status }
  expect(placesOf(validateObject('CertificateSigningRequest', object))).toEqual(places)
})

test('a certificate is in base64 as clients in Go read it', () => {
  const places = (certificate: string) => {
    const object = { metadata: { name: 'r' }, spec: SPEC, status: { certificate } }
    return placesOf(validateObject('CertificateSigningRequest', object))
  }
  expect(places(base64(cert))).toEqual([])
  expect(places(`${base64(cert)}=`)).toEqual([expect.stringContaining('status.certificate')])
})

test('a request is kept for an hour after it was decided, and for a day before', () => {
  const { lastSeen, lifetimeMs } = certificateSigningRequests.expiry!
  const metadata = { creationTimestamp: '2026-01-01T00:00:00Z' }
  const created = Date.UTC(2026, 0, 1)
  expect(lastSeen({ metadata }) + lifetimeMs).toBe(created + 24 * HOUR)
  const conditions = [{ ...APPROVED, lastTransitionTime: '2026-01-01T05:00:00Z' }]
  expect(lastSeen({ metadata, status: { conditions } }) + lifetimeMs).toBe(created + 6 * HOUR)
})
