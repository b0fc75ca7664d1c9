import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { SERVICES, service, startApi, type TestApi } from '../testing/test-api.ts'

/** Sends bytes and returns all that the server sends until the connection ends. */
async function raw(api: TestApi, text: string): Promise<string> {
  const socket = connect(api.port, '127.0.0.1')
  socket.on('error', () => undefined)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(text)
  await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}

function get(target: string, headers = ''): string {
  return `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`
}

test.each([
  '/api/v1/namespaces/default%2f..%2fkube-system/services',
  '/api/v1/namespaces/default%2Fservices',
  '//api/v1/services',
  '/api//v1/services',
  '/api/v1/namespaces/../services',
  '/api/v1/namespaces/default/services/..',
  '/api/v1/./services',
  '/api/v1/namespaces/%2e%2e/services',
  '/api/v1/services%00',
  '/api/v1/services;x=1',
  '/api/v1/services%3bx',
  '/api/v1\\services',
  '/api/v1/services%5c',
  '/api/v1/%zz',
  '/api/v1/%c3%28',
  '/api/v1/services%0a',
  'http://127.0.0.1/api/v1/services',
  '/api/v1/services#x',
  '/api/v1/services?limit=1#x',
])('the path %s is 400', async (path) => {
  const api = await startApi()
  expect(await raw(api, get(path))).toMatch(/^HTTP\/1.1 400 /)
})

test.each([
  '/nope',
  '/api/v2',
  '/api/v1/nope',
  '/API/v1/services',
  '/apis/nope/v1',
  `${SERVICES}/a/b/c`,
  `${SERVICES}/${'a'.repeat(300)}`,
])('the path %s is 404 with a Status', async (path) => {
  const api = await startApi()
  const { status, body } = await api.call('GET', path)
  expect(status).toBe(404)
  expect(body).toMatchObject({
    kind: 'Status',
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
  })
})

test('a method that a path does not have is 405', async () => {
  const api = await startApi()
  for (const [method, path] of [
    ['PUT', SERVICES],
    ['POST', `${SERVICES}/web`],
    ['DELETE', '/api/v1/services'],
    ['DELETE', '/api/v1/namespaces'],
    ['DELETE', `${SERVICES}/web/status`],
    ['POST', '/version'],
    ['OPTIONS', SERVICES],
  ] as const) {
    const { status, body } = await api.call(method, path)
    expect([method, path, status, body['reason']]).toEqual([method, path, 405, 'MethodNotAllowed'])
  }
})

test('a body above the limit is 413, whether its length is announced or not', async () => {
  const api = await startApi({ limits: { requestBytes: 1000 } })
  const body = service('web', {}, { annotations: { big: 'x'.repeat(2000) } })
  const announced = await api.call('POST', SERVICES, { body })
  expect([announced.status, announced.body['reason']]).toEqual([413, 'RequestEntityTooLarge'])
  expect(announced.body['message']).toBe('Request entity too large: limit is 1000')
  const chunk = `${(800).toString(16)}\r\n${'x'.repeat(800)}\r\n`
  const head = `POST ${SERVICES} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const answer = await raw(api, `${head}${chunk}${chunk}`)
  expect(answer).toMatch(/^HTTP\/1.1 413 /)
  expect((await api.call('GET', SERVICES)).status).toBe(200)
})

test('a body of more than 3 MiB is 413 by default', async () => {
  const api = await startApi()
  const huge = Buffer.alloc((3 << 20) + 1, 0x20)
  expect((await api.call('POST', SERVICES, { body: huge })).status).toBe(413)
})

test.each([
  ['not JSON', '{"metadata":', 'not valid JSON'],
  ['empty', '', 'not valid JSON'],
  ['a bomb of brackets', '['.repeat(200_000), 'nested deeper'],
  ['a bomb of objects', `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`, 'nested deeper'],
  ['an infinite number', '{"metadata":{"name":"a"},"spec":{"x":1e999}}', 'number out of range'],
])('a body that is %s is 400', async (_what, body, text) => {
  const api = await startApi()
  const answer = await api.call('POST', SERVICES, { body })
  expect(answer.status).toBe(400)
  expect(answer.body['message']).toContain(text)
})

test('a body with more than 50,000 fields and items is 413 in JSON and 400 in protobuf', async () => {
  const api = await startApi()
  const body = `{"metadata":{"name":"a"},"spec":{"x":[${'0,'.repeat(50_000)}0]}}`
  const json = await api.call('POST', SERVICES, { body })
  expect([json.status, json.body['message']]).toEqual([
    413,
    'the body holds more than 50000 fields and items',
  ])
  const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' }
  const port = Buffer.from([0x0a, 0])
  const spec = Buffer.concat([Buffer.from([0x12]), varint(2 * 50_001), ...repeated(port, 50_001)])
  const raw = Buffer.concat([Buffer.from([0x12]), varint(spec.length), spec])
  const wire = await api.call('POST', SERVICES, {
    body: Buffer.concat([Buffer.from('k8s\0'), raw]),
    headers,
  })
  expect([wire.status, wire.body['message']]).toEqual([
    400,
    expect.stringContaining('too many fields and items'),
  ])
})

function repeated(bytes: Buffer, count: number): Buffer[] {
  return Array.from({ length: count }, () => bytes)
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let rest = value; rest > 0; rest >>>= 7) bytes.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
  return Buffer.from(bytes)
}

test('the answer to a body with a thousand invalid labels stays below 30,000 bytes', async () => {
  const api = await startApi()
  const labels = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`!${index}`, 'x']))
  const { status, text } = await api.call('POST', SERVICES, {
    body: service('web', {}, { labels }),
  })
  expect([status, text.length < 30_000]).toEqual([422, true])
})

test('a patch is 413 when its object becomes larger than 1.5 MB, and 422 when it becomes nested too deep', async () => {
  const api = await startApi()
  await api.make(SERVICES, service('web'))
  const headers = { 'content-type': 'application/merge-patch+json' }
  const grow = (field: string) =>
    api.call('PATCH', `${SERVICES}/web`, { body: { x: { [field]: 'x'.repeat(800_000) } }, headers })
  expect((await grow('a')).status).toBe(200)
  const { status, body } = await grow('b')
  expect([status, body['message']]).toEqual([413, expect.stringContaining('limit is 1500000')])
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}{}${'}'.repeat(depth)}`
  const replace = `[{"op":"add","path":"/x","value":${nested(490)}}]`
  const patch = { 'content-type': 'application/json-patch+json' }
  expect(
    (await api.call('PATCH', `${SERVICES}/web`, { body: replace, headers: patch })).status,
  ).toBe(200)
  const deeper = `[{"op":"add","path":"/x${'/a'.repeat(490)}","value":${nested(490)}}]`
  expect(
    (await api.call('PATCH', `${SERVICES}/web`, { body: deeper, headers: patch })).status,
  ).toBe(422)
})

test('a body that is not UTF-8 is 400', async () => {
  const api = await startApi()
  const body = Buffer.concat([
    Buffer.from('{"metadata":{"name":"'),
    Buffer.from([0xc3, 0x28]),
    Buffer.from('"}}'),
  ])
  const answer = await api.call('POST', SERVICES, { body })
  expect([answer.status, answer.body['message']]).toEqual([400, 'the body is not valid UTF-8'])
})

test.each([
  ['application/json; charset=utf-8', 201],
  ['APPLICATION/JSON', 201],
  ['application/yaml', 201],
  ['application/vnd.kubernetes.protobuf', 400],
  ['text/plain', 415],
])('Content-Type %s is %i', async (type, status) => {
  const api = await startApi()
  const headers = { 'content-type': type }
  expect((await api.call('POST', SERVICES, { body: service('web'), headers })).status).toBe(status)
})

test('a body without a Content-Type is JSON', async () => {
  const api = await startApi()
  const body = JSON.stringify(service('web'))
  const answer = await raw(
    api,
    `POST ${SERVICES} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  expect(answer).toMatch(/^HTTP\/1.1 201 /)
})

test.each([
  ['Content-Type', 'Content-Type: application/json\r\nContent-Type: application/yaml\r\n'],
  ['Content-Length', 'Content-Length: 2\r\nContent-Length: 3\r\n'],
  ['Host', 'Host: y\r\n'],
  ['length and encoding', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'],
])('a repeated or contradictory %s is 400', async (_what, headers) => {
  const api = await startApi()
  expect(await raw(api, get(SERVICES, headers))).toMatch(/^HTTP\/1.1 400 /)
})

test('headers above the limit are 431, and the server goes on', async () => {
  const api = await startApi()
  const answer = await raw(api, get(SERVICES, `X-Big: ${'x'.repeat(100_000)}\r\n`))
  expect(answer).toMatch(/^HTTP\/1.1 431 /)
  expect((await api.call('GET', SERVICES)).status).toBe(200)
})

test('long names, labels and selectors are rejected, without a slow regular expression', async () => {
  const api = await startApi()
  const long = `${'a'.repeat(200_000)}!`
  const labels = await api.call('POST', SERVICES, {
    body: service('web', {}, { labels: { [long]: long } }),
  })
  expect(labels.status).toBe(422)
  const name = await api.call('POST', SERVICES, { body: service(long) })
  expect(name.status).toBe(422)
  expect(name.text.length).toBeLessThan(500_000)
  const selector = await api.call('GET', `${SERVICES}?labelSelector=${'a'.repeat(20_000)}`)
  expect(selector.status).toBe(400)
})

test('a request that the client breaks off creates nothing', async () => {
  const api = await startApi()
  const socket = connect(api.port, '127.0.0.1')
  socket.write(`POST ${SERVICES} HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{"metadata"`)
  await once(socket, 'ready')
  socket.destroy()
  await once(socket, 'close')
  expect((await api.call('GET', SERVICES)).body['items']).toEqual([])
})
