import { request as httpRequest } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createApiServer } from '../../apiserver/api-server.ts'
import { startIdentityApi } from '../../apiserver/testing/identity-api.ts'
import { createMemoryStore } from '../../storage/memory/memory-store.ts'
import { servePage } from './serve-page.ts'

const files = servePage({
  document: 'index.html',
  stalledMs: 60_000,
  onError: (error) => expect.fail(String(error)),
})

/** A server that knows users, with the page; requests of the test have no credentials. */
async function start() {
  const api = await startIdentityApi([], { files })
  return { api, get: (path: string) => api.call('GET', `/page${path}`) }
}

test('serves the document and its files without credentials, and the API with them only', async () => {
  const { api, get } = await start()
  const document = await get('/')
  expect([document.status, document.headers['content-type']]).toEqual([
    200,
    'text/html; charset=utf-8',
  ])
  expect(document.text).toContain('<div id="page">')
  expect(document.headers['content-security-policy']).toContain("default-src 'none'")
  const sources = [...document.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path)
  expect(sources.length).toBeGreaterThan(5)
  for (const path of sources) expect((await get(`/${path}`)).status).toBe(200)
  expect((await api.call('GET', '/api/v1/nodes')).status).toBe(401)
  expect((await api.call('GET', '/pages/')).status).toBe(401)
})

test('leads from /page to /page/, whose files are relative to it', async () => {
  const { get } = await start()
  const answer = await get('')
  expect([answer.status, answer.headers['location']]).toEqual([308, 'page/'])
  expect((await get('?x#/')).status).toBe(308)
})

test('HEAD has no body, and other methods are 405', async () => {
  const { api } = await start()
  for (const path of ['/page', '/page/', '/page/assets/icon.svg', '/page/none']) {
    const { text: body, status } = await api.call('HEAD', path)
    expect([body, status]).toEqual(['', { '/page': 308, '/page/none': 404 }[path] ?? 200])
  }
  const posted = await api.call('POST', '/page/', { body: { a: 1 } })
  expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD'])
})

test('a file that a browser has is 304', async () => {
  const { api, get } = await start()
  const { headers } = await get('/assets/main.ts')
  const known = { headers: { 'if-none-match': String(headers['etag']) } }
  expect((await api.call('GET', '/page/assets/main.ts', known)).status).toBe(304)
})

test.each([
  '/page/../etc/passwd',
  '/page/assets/../../package.json',
  '/page/assets/%2e%2e/README.md',
  '/page/%2fetc/passwd',
  '/page//etc/passwd',
  '/page/__proto__',
  '/page/constructor',
  '/page/assets',
  '/page/index.html',
])('%s is no file of it', async (path) => {
  const { api } = await start()
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const sent = httpRequest({ port: api.port, host: '127.0.0.1', path, agent: false }, (answer) => {
    text(answer).then(() => resolve(answer.statusCode), reject)
  })
  sent.on('error', reject).end()
  expect(await promise).toBe(404)
})

test('files that cannot be read are 500, and read again with the next request', async () => {
  const errors: unknown[] = []
  const document = 'missing.html' as 'index.html'
  const onError = (error: unknown) => void errors.push(error)
  const api = await startIdentityApi([], {
    files: servePage({ document, stalledMs: 60_000, onError }),
  })
  for (const count of [1, 2]) {
    expect((await api.call('GET', '/page/')).status).toBe(500)
    expect(errors).toHaveLength(count)
  }
})

test('a server without it has no such path', async () => {
  const server = createApiServer({ store: createMemoryStore() })
  const { url } = await server.listen()
  expect((await fetch(`${url}/page/`)).status).toBe(404)
  await server.close()
})
