import { expect, test } from 'vitest'
import { SERVICES, startApi } from '../testing/test-api.ts'

const YAML = { 'content-type': 'application/yaml; charset=utf-8' }

const WEB = `# a comment
kind: Service
metadata:
  name: web
  labels: &labels {app: web, tier: null}
spec:
  selector: *labels
  ports:
  - port: 80
`

test('objects may be sent as YAML', async () => {
  const api = await startApi()
  const made = await api.call('POST', SERVICES, { body: WEB, headers: YAML })
  expect(made).toMatchObject({
    status: 201,
    body: {
      metadata: { name: 'web', labels: { app: 'web' } },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, protocol: 'TCP' }] },
    },
  })
  const endpoints = '/api/v1/namespaces/default/endpoints/web'
  const put = await api.call('PUT', endpoints, { body: 'subsets: []', headers: YAML })
  expect(put.status).toBe(201)
  const options = { body: 'preconditions: {uid: other}', headers: YAML }
  expect((await api.call('DELETE', `${SERVICES}/web`, options)).status).toBe(409)
})

test('unknown fields of YAML are reported', async () => {
  const api = await startApi()
  const body = `${WEB}  foo: 1\n`
  const path = `${SERVICES}?fieldValidation=Strict`
  const answer = await api.call('POST', path, { body, headers: YAML })
  expect([answer.status, answer.body['message']]).toEqual([
    400,
    expect.stringContaining('unknown field "spec.foo"'),
  ])
})

test.each([
  ['two documents', 400, `${WEB}---\n${WEB}`],
  ['a key that comes twice', 400, `${WEB}kind: Service\n`],
  ['too many parts', 413, `${WEB}# ${'\n#'.repeat(30_000)}`],
])('YAML of %s is %i', async (_what, code, body) => {
  const api = await startApi()
  expect((await api.call('POST', SERVICES, { body, headers: YAML })).status).toBe(code)
})

test('a merge patch is no YAML', async () => {
  const api = await startApi()
  await api.call('POST', SERVICES, { body: WEB, headers: YAML })
  const answer = await api.call('PATCH', `${SERVICES}/web`, { body: '{}', headers: YAML })
  expect(answer.status).toBe(415)
})

test('a type that is none of those names them', async () => {
  const api = await startApi()
  const headers = { 'content-type': 'text/plain' }
  const { body } = await api.call('POST', SERVICES, { body: WEB, headers })
  expect(body['message']).toMatch(
    'accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
  )
})
