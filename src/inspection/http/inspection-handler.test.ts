import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { InspectionSource } from '../inspection-source.ts'
import type { ReadDocument } from './command-documents.ts'
import { inspectionHandler } from './inspection-handler.ts'
import { pageHandler } from './page-handler.ts'
import { read } from './testing/read.ts'
import { fakeSource } from './testing/source.ts'

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function serve(
  source: Partial<InspectionSource> = {},
  readDocument: ReadDocument = async (words) => ({ json: JSON.stringify({ words }) }),
) {
  const errors: unknown[] = []
  const parts = { source: fakeSource(source), readDocument, socket: '/run/x.sock' }
  const onError = (error: unknown) => void errors.push(error)
  return { url: await listen(inspectionHandler({ ...parts, onError })), errors }
}

function linesOf(body: string): unknown[] {
  return body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown)
}

test('the status has every field, in the JSON form of protobuf', async () => {
  const { url } = await serve()
  const { code, headers, body } = await read(`${url}/inspection/v1/status`)
  expect([code, headers['content-type']]).toEqual([200, 'application/json'])
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  expect(JSON.parse(body)).toMatchObject({
    isReady: true,
    startedAt: '7',
    waitingMs: '0',
    reasons: [],
  })
})

test('a Service has one line: its worst status, each backend once, its first problem', async () => {
  const backend = { ip: '10.0.0.1', port: 80 }
  const { url } = await serve({
    entries: () => [
      { id: 'ns/a:x/TCP/4', service: 'ns/a', status: 'Done', backends: [backend] },
      {
        id: 'ns/a:y/TCP/4',
        service: 'ns/a',
        status: 'Error',
        backends: [backend, { ...backend, port: 81 }],
      },
      { id: 'ns/b:/TCP/4', service: 'ns/b', status: 'Done', backends: [] },
    ],
    status: () => ({
      problems: [
        { entry: 'ns/a:y/TCP/4', code: 'NP_X', message: 'first' },
        { entry: 'ns/a:y/TCP/4', code: 'NP_Y', message: 'second' },
        { entry: 'ns/c:/TCP/4', code: 'NP_Z', message: 'alone' },
      ],
    }),
  })
  const { headers, body } = await read(`${url}/inspection/v1/services`)
  expect(headers['content-type']).toBe('application/x-ndjson')
  expect(linesOf(body)).toEqual([
    {
      service: 'ns/a',
      entries: 2,
      backends: 2,
      status: 'Error',
      problem: { code: 'NP_X', message: 'first' },
    },
    { service: 'ns/b', entries: 1, backends: 0, status: 'Done' },
    {
      service: 'ns/c',
      entries: 0,
      backends: 0,
      status: 'Conflict',
      problem: { code: 'NP_Z', message: 'alone' },
    },
  ])
})

test('entries and traffic are of the Service that the query names', async () => {
  const { url } = await serve({
    entries: (service) => [{ id: `${service}:/TCP/4` }],
    async *traffic(service) {
      yield { service, total: { connections: 0n, bytesIn: 2n ** 60n } }
    },
  })
  const entries = await read(`${url}/inspection/v1/entries?service=ns%2Fa`)
  expect(linesOf(entries.body)).toMatchObject([{ id: 'ns/a:/TCP/4', backends: [] }])
  const traffic = await read(`${url}/inspection/v1/traffic?service=ns/`)
  expect(linesOf(traffic.body)).toEqual([
    { service: 'ns/', total: { connections: '0', bytesIn: '1152921504606846976' }, backends: [] },
  ])
})

test('entries are made as fast as the reader takes them, and no further ones once it is gone', async () => {
  const made = { count: 0, isEnded: false }
  const { url, errors } = await serve({
    *entries() {
      try {
        for (; made.count < 100_000; made.count++) yield { id: `${made.count}`.padEnd(500, '.') }
      } finally {
        made.isEnded = true
      }
    },
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.write('GET /inspection/v1/entries HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(socket, 'readable')
  await expect.poll(() => made.count).toBeGreaterThan(10)
  const before = await settled(() => made.count)
  expect(before).toBeLessThan(50_000)
  socket.destroy()
  await expect.poll(() => made.isEnded).toBe(true)
  expect(made.count).toBeLessThan(50_000)
  expect(errors).toEqual([])
})

/** The value once it is the same twice in a row, some round trips of the event loop apart. */
async function settled(value: () => number): Promise<number> {
  let last = -1
  await expect.poll(() => last === (last = value()), { interval: 200 }).toBe(true)
  return last
}

test('a list that breaks off is cut, so that no reader takes it for whole', async () => {
  const { url, errors } = await serve({
    *entries() {
      yield { id: 'first'.padEnd(20_000, '.') }
      throw new Error('broken')
    },
  })
  await expect(read(`${url}/inspection/v1/entries`)).rejects.toThrow(/aborted|hang up/)
  expect(errors).toEqual([new Error('broken')])
})

test('changes arrive one by one until the reader ends, which releases the source', async () => {
  type Report = Parameters<InspectionSource['watchChanges']>[0]
  const readers = new Set<Report>()
  const { url } = await serve({
    watchChanges(onChange) {
      onChange({ service: 'ns/old' })
      readers.add(onChange)
      return () => void readers.delete(onChange)
    },
  })
  const ended = new AbortController()
  const response = await fetch(`${url}/inspection/v1/changes`, { signal: ended.signal })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  expect((await reader.read()).value).toContain('"service":"ns/old"')
  for (const report of readers) report({ service: 'ns/new' })
  expect((await reader.read()).value).toContain('"service":"ns/new"')
  ended.abort()
  await expect.poll(() => readers.size).toBe(0)
})

test('so many readers follow the changes that others still get answers', async () => {
  const { url } = await serve()
  const ended = new AbortController()
  const follow = () => fetch(`${url}/inspection/v1/changes`, { signal: ended.signal })
  const followers = await Promise.all(Array.from({ length: 32 }, follow))
  expect(followers.map(({ status }) => status)).toEqual(Array(32).fill(200))
  const refused = await read(`${url}/inspection/v1/changes`)
  expect([refused.code, refused.body]).toEqual([503, expect.stringContaining('NP_INSPECTION_BUSY')])
  ended.abort()
  const again = new AbortController()
  await expect
    .poll(
      async () => (await fetch(`${url}/inspection/v1/changes`, { signal: again.signal })).status,
    )
    .toBe(200)
  again.abort()
})

test('a reader of changes that takes none is cut off', async () => {
  const state = {
    isWatched: false,
    report: undefined as ((change: { service: string }) => void) | undefined,
  }
  const { url } = await serve({
    watchChanges(onChange) {
      Object.assign(state, { isWatched: true, report: onChange })
      return () => void (state.isWatched = false)
    },
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET /inspection/v1/changes HTTP/1.1\r\nHost: x\r\n\r\n')
  socket.pause()
  await expect.poll(() => state.isWatched).toBe(true)
  for (let count = 0; count < 1_000 && state.isWatched; count++) {
    state.report?.({ service: 'x'.repeat(100_000) })
    await new Promise(setImmediate)
  }
  expect(state.isWatched).toBe(false)
  socket.destroy()
})

test('explain runs the command; what the caller writes stays an argument', async () => {
  const { url } = await serve()
  const query = 'source=--from=/etc/shadow&destination=ns/a:80&protocol=udp&interface=eth0'
  const { code, body } = await read(`${url}/inspection/v1/explain?${query}`)
  expect([code, JSON.parse(body)]).toEqual([
    200,
    {
      words: [
        'explain',
        '--output=json',
        '--socket=/run/x.sock',
        '--protocol=udp',
        '--interface=eth0',
      ].concat(['--', '--from=/etc/shadow', 'ns/a:80']),
    },
  ])
})

test.each([
  ['explain', /^source: the query has none; write \?source/],
  ['explain?source=node', /^destination: the query has none/],
  [`explain?source=node&destination=${'a'.repeat(300)}`, /^destination: "aaa.* is no word/],
  ['explain?source=node&destination=a%00b', /is no word/],
])('%s is refused', async (path, message) => {
  const { url } = await serve()
  const { code, body } = await read(`${url}/inspection/v1/${path}`)
  expect(code).toBe(400)
  expect(JSON.parse(body)).toEqual({
    code: 'NP_INSPECTION_REFUSED',
    message: expect.stringMatching(message),
  })
})

test('other paths and methods are refused, and say what is served', async () => {
  const { url } = await serve()
  const other = await read(`${url}/inspection/v2/status`)
  expect([other.code, other.body]).toEqual([404, expect.stringContaining('/inspection/v1/status')])
  const post = await read(`${url}/inspection/v1/status`, { method: 'POST' })
  expect([post.code, post.headers['allow']]).toEqual([405, 'GET, HEAD'])
  const head = await read(`${url}/inspection/v1/status`, { method: 'HEAD' })
  expect([head.code, head.body]).toEqual([200, ''])
})

test('an error of the source is reported, and shows nothing of itself', async () => {
  const secret = new Error('secret')
  const { url, errors } = await serve({
    status() {
      throw secret
    },
  })
  const { code, body } = await read(`${url}/inspection/v1/status`)
  expect([code, JSON.parse(body)]).toMatchObject([500, { code: 'NP_INSPECTION_FAILED' }])
  expect(body).not.toContain('secret')
  expect(errors).toEqual([secret])
})

const INDEX = { type: 'text/html; charset=utf-8', bytes: Buffer.from('<p>'), etag: '"1"' }
const PAGES = {
  files: new Map([['', INDEX]]),
  policy: "default-src 'none'; frame-ancestors 'none'",
}

async function servePage(): Promise<string> {
  const readDocument: ReadDocument = async () => ({ json: '{}' })
  const parts = { source: fakeSource(), readDocument, socket: '', onError: () => undefined }
  return listen(pageHandler(parts, PAGES))
}

test('the page has its files, with a policy that admits no other origin', async () => {
  const url = await servePage()
  const { code, headers, body } = await read(`${url}/`)
  expect([code, headers['content-type'], body]).toEqual([200, 'text/html; charset=utf-8', '<p>'])
  expect(headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
  expect((await read(`${url}/inspection/v1/status`)).code).toBe(200)
  expect((await read(`${url}/other`)).code).toBe(404)
  expect((await read(`${url}/`, { method: 'PUT' })).code).toBe(405)
})

test.each([
  [{ Host: 'localhost:1' }, 200],
  [{ Host: '127.0.0.2' }, 200],
  [{ Host: '[::1]:80' }, 200],
  [{ Host: 'LOCALHOST' }, 200],
  [{ Host: 'evil.example' }, 403],
  [{ Host: '127.0.0.1.evil.example' }, 403],
  [{ Host: '192.0.2.1' }, 403],
  [{ Host: 'localhost:1:2' }, 403],
  [{ 'Sec-Fetch-Site': 'same-origin' }, 200],
  [{ 'Sec-Fetch-Site': 'none' }, 200],
  [{ 'Sec-Fetch-Site': 'cross-site' }, 403],
  [{ 'Sec-Fetch-Site': 'same-site' }, 403],
  [{ Host: 'localhost:1', Origin: 'http://localhost:1' }, 200],
  [{ Host: 'localhost:1', Origin: 'http://localhost:2' }, 403],
  [{ Origin: 'null' }, 403],
])('headers %j: %i', async (headers, expected) => {
  const url = await servePage()
  for (const path of ['/', '/inspection/v1/status']) {
    const { code, body } = await read(`${url}${path}`, { headers })
    expect(code).toBe(expected)
    if (code === 403) expect(JSON.parse(body)).toMatchObject({ code: 'NP_INSPECTION_ORIGIN' })
  }
})
