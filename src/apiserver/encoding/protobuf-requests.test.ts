import { expect, test } from 'vitest'
import { POD, PODS, SERVICES, service, startApi } from '../testing/test-api.ts'
import { PROTOBUF } from './decode-protobuf.ts'
import { recordedBodies } from './testing/recorded-bodies.ts'
import { encodeBody } from './testing/test-encoder.ts'

const headers = {
  'content-type': PROTOBUF,
  accept: `${PROTOBUF},application/json`,
}

test('kubectl creates a Service and a Namespace in protobuf and reads JSON', async () => {
  const api = await startApi()
  const body = Buffer.from(recordedBodies['create service clusterip web --tcp=80:8080'], 'hex')
  const answer = await api.call('POST', SERVICES, { body, headers })
  expect([answer.status, answer.headers['content-type']]).toEqual([201, 'application/json'])
  expect(answer.body).toMatchObject({
    metadata: { name: 'web', namespace: 'default' },
    spec: { ports: [{ port: 80, targetPort: 8080 }], type: 'ClusterIP' },
  })
  const team = Buffer.from(recordedBodies['create ns team'], 'hex')
  expect((await api.call('POST', '/api/v1/namespaces', { body: team, headers })).status).toBe(201)
})

test('an update in protobuf', async () => {
  const api = await startApi()
  const made = await api.make(SERVICES, service('web'))
  const spec = { type: 'NodePort', ports: [{ port: 81, protocol: 'TCP' }], clusterIP: '' }
  const { resourceVersion } = made['metadata'] as { resourceVersion: string }
  const object = { ...made, metadata: { name: 'web', resourceVersion } }
  const body = encodeBody({ ...object, spec: { ...(made['spec'] as object), ...spec } })
  const answer = await api.call('PUT', `${SERVICES}/web`, { body, headers })
  expect([answer.status, answer.body['spec']]).toMatchObject([200, { ports: [{ port: 81 }] }])
})

test('options of a deletion in protobuf', async () => {
  const api = await startApi()
  await api.make(PODS, { metadata: { name: 'a' }, spec: POD })
  const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'other' } }
  const remove = (body: Buffer): Promise<{ status: number }> =>
    api.call('DELETE', `${PODS}/a`, { body, headers })
  expect((await remove(encodeBody(options))).status).toBe(409)
  expect((await remove(encodeBody({ ...options, preconditions: {} }))).status).toBe(200)
})

test('an object of another kind is refused as it is in JSON', async () => {
  const api = await startApi()
  const body = Buffer.from(recordedBodies['create ns team'], 'hex')
  const { status, body: refusal } = await api.call('POST', SERVICES, { body, headers })
  expect([status, refusal['message']]).toEqual([400, expect.stringContaining('"Namespace"')])
})
