import { afterEach, expect, test } from 'vitest'
import type { Clock } from '../../lib/clock.ts'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Connection } from '../connection/connection.ts'
import { connectionTo } from '../connection/load-connection.ts'
import type { Arrival, ScriptedServer } from '../testing/scripted-server.ts'
import { answerJson, answerStatus, startScriptedServer } from '../testing/scripted-server.ts'
import type { ApiClient } from './api-client.ts'
import { createApiClient } from './api-client.ts'
import type { ObservedRequest } from './client-observer.ts'

const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

interface Started {
  readonly server: ScriptedServer
  readonly client: ApiClient
  readonly observed: { readonly requests: ObservedRequest[] }
}

async function start(
  answer: (arrival: Arrival) => void,
  { clock = systemClock, basePath = '' }: { clock?: Clock; basePath?: string } = {},
): Promise<Started> {
  const server = await startScriptedServer(answer)
  const requests: ObservedRequest[] = []
  const client = createApiClient({
    connection: connectionTo(server.url + basePath),
    clock,
    userAgent: 'node-proxy/test',
    observer: { requested: (request) => requests.push(request), authenticated: () => {} },
  })
  cleanups.push(
    () => client.close(),
    () => server.close(),
  )
  return { server, client, observed: { requests } }
}

async function listAll(client: ApiClient): Promise<{ items: string[]; result: unknown }> {
  const opened = await client.list('/things')
  if (!opened.ok) return { items: [], result: opened }
  const items: string[] = []
  for await (const batch of opened.value.batches) items.push(...batch.items)
  return { items, result: opened.value.result() }
}

test('a request has the base path, its query and the headers Accept and User-Agent', async () => {
  const { server, client } = await start(({ response }) => answerJson(response, 200, { a: 1 }), {
    basePath: '/clusters/x/',
  })
  const result = await client.get('/api/v1/nodes/n', { query: { fieldSelector: 'a=b,c' } })
  expect(result).toEqual({ ok: true, value: { a: 1 } })
  const { url, headers } = server.arrivals[0]!
  expect(url.pathname).toBe('/clusters/x/api/v1/nodes/n')
  expect(url.searchParams.get('fieldSelector')).toBe('a=b,c')
  expect(headers).toMatchObject({ accept: 'application/json', 'user-agent': 'node-proxy/test' })
})

test('a connection is used for the next request', async () => {
  const { server, client } = await start(({ response }) => answerJson(response, 200, {}))
  for (let request = 0; request < 6; request++) await client.get('/a')
  const ports = server.arrivals.map(({ request }) => request.socket.remotePort)
  expect(new Set(ports).size).toBeLessThanOrEqual(2)
})

test('create, patch and remove send the right content types', async () => {
  const bodies: string[] = []
  const { server, client } = await start(({ request, response }) => {
    request.setEncoding('utf8').on('data', (text: string) => bodies.push(text))
    request.on('end', () => answerJson(response, 201, { kind: 'Event' }))
  })
  await client.create('/events', { reason: 'x' })
  await client.patch('/events/e', [{ op: 'test' }], { type: 'application/json-patch+json' })
  await client.remove('/events/e', { preconditions: { uid: 'u' } })
  expect(server.arrivals.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'DELETE'])
  expect(server.arrivals.map(({ headers }) => headers['content-type'])).toEqual([
    'application/json',
    'application/json-patch+json',
    'application/json',
  ])
  const options = '{"preconditions":{"uid":"u"}}'
  expect(bodies).toEqual(['{"reason":"x"}', '[{"op":"test"}]', options])
})

test.each([301, 302, 307, 308])(
  'a %i is a failure and no other server gets a request',
  async (status) => {
    const elsewhere = await start(({ response }) => answerJson(response, 200, {}))
    const { client } = await start(({ response }) => {
      response.writeHead(status, { location: `${elsewhere.server.url}/steal?token=1` }).end()
    })
    const result = await client.get('/things')
    expect(result).toMatchObject({
      ok: false,
      failure: { code: status, errorCode: 'NP_CLIENT_REDIRECT', reason: 'Redirect' },
    })
    expect(JSON.stringify(result)).not.toContain('steal')
    expect(elsewhere.server.arrivals).toEqual([])
  },
)

test('a failure has the Status of the response and its Retry-After', async () => {
  const { client } = await start(({ response }) => {
    response.setHeader('retry-after', '3')
    answerStatus(response, 429, 'TooManyRequests')
  })
  const { failure } = (await client.get('/x')) as { failure: unknown }
  expect(failure).toMatchObject({ code: 429, reason: 'TooManyRequests', retryAfterMs: 3000 })
})

test('the failure for an HTML page has none of its HTML', async () => {
  const { client } = await start(({ response }) => {
    response.writeHead(502, { 'content-type': 'text/html' }).end('<html>secret</html>')
  })
  const result = await client.get('/x')
  expect(result).toMatchObject({ ok: false, failure: { code: 502, reason: 'HTTP 502' } })
  expect(JSON.stringify(result)).not.toContain('secret')
})

test('HTML with status 200 is NP_CLIENT_GARBAGE, for objects and lists', async () => {
  const { client } = await start(({ response }) => response.writeHead(200).end('<html></html>'))
  const garbage = { ok: false, failure: { errorCode: 'NP_CLIENT_GARBAGE' } }
  expect(await client.get('/x')).toMatchObject(garbage)
  expect((await listAll(client)).result).toMatchObject(garbage)
})

test('an object larger than 8 MiB is NP_CLIENT_TOO_LARGE', async () => {
  const { client } = await start(({ response }) => {
    response.writeHead(200)
    response.on('error', () => undefined)
    response.end(JSON.stringify('x'.repeat(9 * 1024 * 1024)))
  })
  const result = await client.get('/x')
  expect(result).toMatchObject({ ok: false, failure: { errorCode: 'NP_CLIENT_TOO_LARGE' } })
})

test('a request without a response fails at its deadline', async () => {
  const clock = new FakeClock()
  const { server, client } = await start(() => undefined, { clock })
  const pending = client.get('/x')
  await server.arrival(1)
  await clock.advance(30_000)
  expect(await pending).toMatchObject({
    ok: false,
    failure: { code: 0, reason: 'Timeout', errorCode: 'NP_CLIENT_TIMEOUT' },
  })
  expect(clock.pending()).toEqual([])
})

test('a request whose body stalls fails at its deadline', async () => {
  const clock = new FakeClock()
  const { client } = await start(({ response }) => response.writeHead(200).write('{"items":[{}'), {
    clock,
  })
  const opened = await client.list('/things')
  expect(opened.ok).toBe(true)
  if (!opened.ok) return
  const reading = (async () => {
    for await (const batch of opened.value.batches) await clock.advance(batch.items.length)
  })()
  await clock.advance(31_000)
  await reading
  expect(opened.value.result()).toMatchObject({ failure: { reason: 'Timeout' } })
})

test('aborting the signal of a request fails it with NP_CLIENT_ABORTED', async () => {
  const { server, client } = await start(() => undefined)
  const controller = new AbortController()
  const pending = client.get('/x', { signal: controller.signal })
  await server.arrival(1)
  controller.abort()
  expect(await pending).toMatchObject({ failure: { reason: 'Aborted' } })
})

test('the failure of an unreachable server names the server and the cause', async () => {
  const { server, client } = await start(() => undefined)
  await server.close()
  const result = await client.get('/x')
  expect(result).toMatchObject({ failure: { code: 0, errorCode: 'NP_CLIENT_UNREACHABLE' } })
  expect(JSON.stringify(result)).toContain(`${server.url} refuses connections: ECONNREFUSED`)
})

test('a list returns its items and the token of the next page', async () => {
  const items = [{ a: 1 }, { b: 2 }]
  const metadata = { resourceVersion: '9', continue: 'more' }
  const { client } = await start(({ response }) =>
    answerJson(response, 200, { kind: 'ThingList', metadata, items }),
  )
  const found = await listAll(client)
  expect(found.items.map((text) => JSON.parse(text))).toEqual(items)
  expect(found.result).toEqual({ ok: true, value: { version: '9', next: 'more' } })
})

test.each([
  ['no version', { kind: 'ThingList', metadata: {}, items: [] }],
  ['no list', { kind: 'Thing', metadata: { resourceVersion: '1' } }],
  ['no object', []],
])('a page with %s is garbage', async (_, body) => {
  const { client } = await start(({ response }) => answerJson(response, 200, body))
  expect((await listAll(client)).result).toMatchObject({
    failure: { errorCode: 'NP_CLIENT_GARBAGE' },
  })
})

test('a connection that breaks in a page fails the page, after the items that had arrived', async () => {
  const { client } = await start(({ response }) => {
    response.writeHead(200, { 'content-length': '999' })
    response.write('{"items":[{"a":1},{"b":', () => response.socket?.destroy())
  })
  const found = await listAll(client)
  expect(found.result).toMatchObject({ ok: false, failure: { reason: 'Closed' } })
  expect(found.items.length).toBeLessThanOrEqual(1)
})

test('each request is reported to the observer, with its status or `error`', async () => {
  const { server, client, observed } = await start(({ response }) =>
    answerStatus(response, 403, 'Forbidden'),
  )
  await client.get('/a')
  await server.close()
  await client.create('/b', {})
  expect(observed.requests.map(({ method, code }) => `${method} ${code}`)).toEqual([
    'GET 403',
    'POST error',
  ])
  expect(observed.requests.every(({ seconds }) => seconds >= 0)).toBe(true)
})

test('a credential that fails after the deadline is reported as the cause', async () => {
  const clock = new FakeClock()
  const { promise, reject } = Promise.withResolvers<never>()
  const connection: Connection = {
    ...connectionTo('https://127.0.0.1:1'),
    credentials: { kind: 'exec', current: () => promise, reject: () => false },
  }
  const client = createApiClient({ connection, clock, userAgent: 'test' })
  const pending = client.get('/x')
  await clock.advance(30_000)
  reject(new NodeProxyError('NP_CLIENT_CREDENTIAL', 'the plugin failed', { hint: 'install it' }))
  expect(await pending).toMatchObject({
    failure: { errorCode: 'NP_CLIENT_CREDENTIAL', message: 'the plugin failed; install it' },
  })
  await client.close()
})
