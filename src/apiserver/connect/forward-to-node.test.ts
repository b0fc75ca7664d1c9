import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { NODE, STATUS, startNodes } from './testing/nodes.ts'

const authority = await newTestAuthority('cluster')
const RBAC = '/apis/rbac.authorization.k8s.io/v1'

/** The whole answer to a request whose target no client library has changed. */
function rawGet(port: number, target: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const lines = [`GET ${target} HTTP/1.1`, 'Host: x', 'Authorization: Bearer root']
  socket.end(`${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`)
  return text(socket)
}

test('the node answers, with the certificate of the server and nothing of the client', async () => {
  const { api, received, dialled } = await startNodes({
    authority,
    handler: (_, response) => {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'Set-Cookie': 'a=b' })
      response.end('{"ready":true}\n')
    },
  })
  const path = `${NODE}/proxy/inspection/v1/explain?source=10.0.0.2&destination=shop%2Fweb%3Ahttp&x=%zz`
  const headers = { cookie: 'c=d', 'x-forwarded-for': '1.2.3.4', accept: 'text/html' }
  const answer = await api.as('root', 'GET', path, { headers })
  expect([answer.status, answer.text]).toEqual([200, '{"ready":true}\n'])
  const { date: _, ...passed } = answer.headers
  expect(passed).toEqual({
    'content-type': 'application/x-ndjson',
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
    'cross-origin-resource-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    connection: 'close',
    'transfer-encoding': 'chunked',
  })
  expect(dialled).toEqual(['192.0.2.7:10246'])
  expect(received).toEqual([
    {
      method: 'GET',
      url: '/inspection/v1/explain?source=10.0.0.2&destination=shop%2Fweb%3Ahttp&x=%zz',
      user: 'system:orch-server-node-client',
      headers: {
        host: '192.0.2.7:10246',
        accept: 'application/json, application/x-ndjson',
        'user-agent': 'orch-server',
        connection: 'close',
      },
    },
  ])
})

test.each([
  ['n1:9999', '192.0.2.7:9999'],
  ['https:n1:9999', '192.0.2.7:9999'],
  ['https%3An1%3A9999', '192.0.2.7:9999'],
  ['https:n1:', '192.0.2.7:10246'],
])('the node is named %s', async (name, endpoint) => {
  const { get, dialled } = await startNodes({ authority })
  expect((await get(STATUS.replace('n1', name))).status).toBe(200)
  expect(dialled).toEqual([endpoint])
})

test.each([
  ['http:n1:10246', 400, 'scheme "http" is not served by nodes; write https:n1:10246'],
  ['n1:0', 400, 'port "0" of the node is invalid'],
  ['n1:65536', 400, 'port "65536" of the node is invalid'],
  ['n1:0x50', 400, 'port "0x50" of the node is invalid'],
  ['n1:80:', 400, 'scheme "n1" is not served by nodes'],
  ['https:n1:1:2', 404, 'nodes "https:n1:1:2" not found'],
  ['n2', 404, 'nodes "n2" not found'],
])('%s is answered %i', async (name, status, message) => {
  const { get, dialled } = await startNodes({ authority })
  const answer = await get(STATUS.replace('n1', name))
  expect(answer.body).toMatchObject({ code: status, message: expect.stringContaining(message) })
  expect(dialled).toEqual([])
})

test.each([
  ['', 404],
  ['/', 404],
  ['/inspection/v1', 404],
  ['/inspection/v1/', 404],
  ['/metrics', 404],
  ['/inspection/v2/status', 404],
  ['/Inspection/v1/status', 404],
  ['/x/inspection/v1/status', 404],
  ['/inspection/v1/..%2f..%2fmetrics', 400],
  ['/inspection/v1/../../metrics', 400],
  ['/inspection/v1/%2e%2e/metrics', 400],
  ['/inspection/v1//status', 400],
  ['/inspection/v1/a%5c..', 400],
  ['/inspection/v1/a%0d%0aX:%20y', 400],
  ['/inspection/v1/status#x', 400],
])('below proxy, %j leads to no node', async (path, status) => {
  const { api, dialled } = await startNodes({ authority })
  const answer = await rawGet(api.port, `${NODE}/proxy${path}`)
  expect(answer).toMatch(`HTTP/1.1 ${status} `)
  expect(answer).toContain('"kind":"Status"')
  const remedy = 'use /api/v1/nodes/n1/proxy/inspection/v1/status'
  expect(answer.includes(remedy)).toBe(status === 404)
  expect(dialled).toEqual([])
})

test('an answer without a type is bytes', async () => {
  const { get } = await startNodes({ authority })
  expect((await get()).headers['content-type']).toBe('application/octet-stream')
})

test('what a path holds twice encoded, the node gets so', async () => {
  const { get, received } = await startNodes({ authority })
  await get(`${NODE}/proxy/inspection/v1/%252e%252e%252fmetrics%3fa`)
  expect(received[0]?.url).toBe('/inspection/v1/%252e%252e%252fmetrics%3Fa')
})

test('HEAD is answered without a body, and other methods not at all', async () => {
  const { api, received } = await startNodes({
    authority,
    handler: (_, response) => void response.writeHead(206, { 'Content-Type': 'a/b' }).end('text'),
  })
  const head = await api.as('root', 'HEAD', STATUS)
  expect([head.status, head.text, head.headers['content-type']]).toEqual([206, '', 'a/b'])
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    expect((await api.as('root', method, STATUS, { body: {} })).status).toBe(405)
  }
  expect(received.map(({ method }) => method)).toEqual(['HEAD'])
})

test('who may get nodes/proxy of a node reads that node, whatever the port', async () => {
  const { api, get, received } = await startNodes({ authority })
  await api.make('/api/v1/nodes', { metadata: { name: 'n2' } })
  expect(await get(STATUS, 'alice')).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining('cannot get resource "nodes/proxy"') },
  })
  expect((await api.call('GET', STATUS)).status).toBe(401)
  const rules = [
    { apiGroups: [''], resources: ['nodes/proxy'], resourceNames: ['n1'], verbs: ['get'] },
  ]
  await api.make(`${RBAC}/clusterroles`, { metadata: { name: 'n1' }, rules })
  await api.make(`${RBAC}/clusterrolebindings`, {
    metadata: { name: 'n1' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'n1' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
  })
  await expect.poll(async () => (await get(STATUS, 'alice')).status).toBe(200)
  expect((await api.as('alice', 'HEAD', STATUS)).status).toBe(200)
  expect((await get(STATUS.replace('n1', 'https:n1:9999'), 'alice')).status).toBe(200)
  for (const name of ['n2', 'n2:10246', 'https:n2:n1', 'n1:n2:1', 'n2%3An1']) {
    expect((await get(STATUS.replace('n1', name), 'alice')).status).not.toBe(200)
  }
  for (const name of ['n2', 'https:n2:10246', 'n2%3An1']) {
    expect((await get(STATUS.replace('n1', name), 'alice')).status).toBe(403)
  }
  expect((await api.as('alice', 'POST', STATUS, { body: {} })).status).toBe(403)
  expect(received).toHaveLength(3)
})

test('discovery has the subresource, and the metrics count it without its path', async () => {
  const { get } = await startNodes({ authority })
  await get()
  const { body } = await get('/api/v1')
  expect(body['resources']).toContainEqual({
    name: 'nodes/proxy',
    singularName: '',
    namespaced: false,
    kind: 'NodeProxyOptions',
    verbs: ['create', 'delete', 'get', 'patch', 'update'],
  })
  const metrics = (await get('/metrics')).text
  expect(metrics).toMatch(
    /request_total\{verb="GET",group="",version="v1",resource="nodes",subresource="proxy",code="200"\} 1/,
  )
  expect(metrics).not.toContain('inspection')
})
