import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { issueAuthority } from '../../orchserver/certificates/issue.ts'
import { SERVICES, startApi, type TestApi } from '../testing/test-api.ts'

/** Milliseconds. Far below Node's default of 30 s between two searches for late requests, and vitest's timeout. */
const LIMIT_MS = 300
const limits = { requestTimeout: LIMIT_MS, stalledClientTimeout: LIMIT_MS }

/** Opens a connection, sends bytes and returns all that the server sends until it disconnects. */
async function receivedUntilClosed(port: number, send: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const received: Buffer[] = []
  socket.on('data', (chunk: Buffer) => received.push(chunk))
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  send(socket)
  await closed
  return Buffer.concat(received).toString()
}

/** Sends one byte after the other, for as long as the server listens. */
function drip(socket: Socket, text: string): void {
  const bytes = text[Symbol.iterator]()
  const timer = setInterval(() => {
    const { done, value } = bytes.next()
    if (done !== true) socket.write(value)
  }, LIMIT_MS / 10)
  socket.once('close', () => clearInterval(timer))
}

const MAPS = '/api/v1/namespaces/default/configmaps'

const HEAD = 'GET /livez HTTP/1.1\r\nHost: x\r\n'

test.each([
  ['nothing', ''],
  ['a part of its headers', `${HEAD}X-A`],
  ['a part of its body', `POST ${SERVICES} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{`],
  ['a second request that stops', `${HEAD}\r\n${HEAD}X-A`],
])('a client that sends %s gets 408 after the request timeout', async (_what, bytes) => {
  const { port } = await startApi({ limits })
  const text = await receivedUntilClosed(port, (socket) => socket.write(bytes))
  expect(text).toMatch(/HTTP\/1\.1 408 Request Timeout\r\n/)
})

test.each([
  ['headers', `${HEAD}X-A: `],
  ['body', `POST ${SERVICES} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n`],
])(
  'a client that sends its %s byte by byte is disconnected after the request timeout, too',
  async (_what, beginning) => {
    const { port } = await startApi({ limits })
    const text = await receivedUntilClosed(port, (socket) => {
      socket.write(beginning)
      drip(socket, 'x'.repeat(1000))
    })
    expect(text).not.toContain('HTTP/1.1 2')
  },
)

test.each([
  ['nothing', ''],
  ['the beginning of a ClientHello', '\x16\x03\x01\x02\x00\x01'],
])('a TLS client that sends %s is disconnected after the request timeout', async (_what, bytes) => {
  const { server } = await startApi({ limits })
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const cert = await issueAuthority({ subject: 'CN=test', key }, Date.now())
  const { port } = await server.listen({ tls: { key, cert } })
  expect(await receivedUntilClosed(port, (socket) => socket.write(bytes, 'latin1'))).toBe('')
})

test('a watch without events outlives the request timeout', async () => {
  const api = await startApi({ limits: { ...limits, bookmarkPeriod: 4 * LIMIT_MS } })
  await api.make(MAPS, { metadata: { name: 'before' } })
  const watch = await api.watch(`${MAPS}?watch=true&resourceVersion=1&allowWatchBookmarks=true`)
  const [, bookmark] = await watch.take(2)
  expect(bookmark).toMatchObject({ type: 'BOOKMARK' })
  watch.close()
})

/** Below the size above which an answer is sent in chunks. */
const ANSWER_BYTES = 100_000

test('a client that never reads short answers releases its slots after stalledClientTimeout', async () => {
  const api = await startApi({ limits })
  await api.make(MAPS, { metadata: { name: 'large' }, data: { a: 'x'.repeat(ANSWER_BYTES) } })
  const socket = connect(api.port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  const get = `GET ${MAPS}/large HTTP/1.1\r\nHost: x\r\n\r\n`
  // Requests until the buffers of the socket are full: one read stays under way in ten looks.
  for (let stuck = 0; stuck < 10 && !socket.destroyed; ) {
    if (stuck === 0) socket.write(get)
    stuck = (await readsUnderWay(api)) === 0 ? 0 : stuck + 1
  }
  await expect.poll(() => readsUnderWay(api), { timeout: 5000 }).toBe(0)
  socket.destroy()
})

async function readsUnderWay(api: TestApi): Promise<number> {
  const { text } = await api.call('GET', '/metrics')
  const [, count] = /apiserver_current_inflight_requests\{request_kind="readOnly"\} (\d+)/.exec(
    text,
  )!
  return Number(count)
}

test('answers queued behind a watch of the same connection hold no slots', async () => {
  const api = await startApi({ limits: { requestsInFlight: 4 } })
  const socket = connect(api.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET ${MAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n`)
  await once(socket, 'data')
  socket.write(`GET ${MAPS}/none HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(20))
  for (let reads = 0; reads < 20; reads++) {
    expect((await api.call('GET', `${MAPS}/none`)).status).toBe(404)
  }
  socket.destroy()
})
