import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { createApiServer } from '../apiserver/api-server.ts'
import { startIdentityApi } from '../apiserver/testing/identity-api.ts'
import { type PageFiles, readPageFiles } from '../page/serving/page-files.ts'
import { createMemoryStore } from '../storage/memory-store.ts'
import { servePage } from './serve-page.ts'

const WELL = {
  document: 'cluster.html',
  stalledMs: 60_000,
  onError: (error: unknown) => expect.fail(String(error)),
} as const
const files = servePage(WELL)

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
  expect(sources).toContain('assets/main-cluster.ts')
  for (const path of sources) expect((await get(`/${path}`)).status).toBe(200)
  expect((await api.call('GET', '/api/v1/nodes')).status).toBe(401)
  expect((await api.call('GET', '/pages/')).status).toBe(401)
})

test('leads from /page to /page/, whose files are relative to it', async () => {
  const { get } = await start()
  const answer = await get('')
  expect([answer.status, answer.headers['location']]).toEqual([308, 'page/'])
  expect(answer.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  })
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
  '/page/x/../assets/main.ts',
  '/page/assets/m%61in.ts',
  '/page/%zz',
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

test('files are read with the first request; what failed is 500, and read again with the next', async () => {
  const errors: unknown[] = []
  let reads = 0
  const api = await startIdentityApi([], {
    files: servePage({
      ...WELL,
      onError: (error) => void errors.push(error),
      async read(options) {
        reads++
        if (reads === 1) throw new Error('/secret: too many open files')
        return readPageFiles(options)
      },
    }),
  })
  expect(reads).toBe(0)
  const { status, text: words } = await api.call('GET', '/page/')
  expect([status, words]).toEqual([500, 'the page cannot be read; see the log of orch-server\n'])
  expect(errors).toEqual([new Error('/secret: too many open files')])
  for (const path of ['/page/', '/page/assets/main.ts']) {
    expect((await api.call('GET', path)).status).toBe(200)
  }
  expect([reads, errors.length]).toEqual([2, 1])
})

test('a client that takes nothing of a file is disconnected', async () => {
  const bytes = new Uint8Array(64 << 20)
  const large: PageFiles = {
    files: new Map([['large', { type: 'text/plain', bytes, etag: '""' }]]),
    policy: '',
  }
  const page = servePage({ ...WELL, stalledMs: 100, read: async () => large })
  const closed = Promise.withResolvers<boolean>()
  const api = await startIdentityApi([], {
    files: (exchange) => {
      const { response } = exchange
      response.once('close', () => closed.resolve(response.writableFinished))
      return page(exchange)
    },
  })
  const socket = connect(api.port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  socket.write('GET /page/large HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await closed.promise).toBe(false)
})

test('a server without it has no such path', async () => {
  const server = createApiServer({ store: createMemoryStore() })
  const { url } = await server.listen()
  expect((await fetch(`${url}/page/`)).status).toBe(404)
  await server.close()
})
