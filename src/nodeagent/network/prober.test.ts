import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { namespaceNamed } from '../system/namespace.ts'
import { Prober, type ProbeTarget, runProbe } from './prober.ts'

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

const http = { kind: 'http', host: '127.0.0.1', isSecure: false, path: '/', headers: [] } as const

test.each([
  [200, 'pass', ''],
  [399, 'pass', ''],
  [400, 'fail', 'HTTP status 400'],
  [503, 'fail', 'HTTP status 503'],
])('HTTP status %i: %s', async (status, outcome, message) => {
  const server = createHttpServer((_request, response) => {
    response.writeHead(status, { location: 'http://127.0.0.1:1/' }).flushHeaders()
    response.write('a body without an end')
  })
  const port = await listening(server)
  expect(await runProbe({ ...http, port }, 5_000)).toEqual({ outcome, message })
})

test('headers and path are sent as given', async () => {
  const seen: unknown[] = []
  const server = createHttpServer(({ url, headers }, response) => {
    seen.push({ url, host: headers.host, agent: headers['user-agent'], own: headers['x-a'] })
    response.end()
  })
  const port = await listening(server)
  const headers = [
    ['Host', 'web'],
    ['X-A', 'b'],
  ] as const
  await runProbe({ ...http, port, path: '/a?b=c', headers }, 5_000)
  expect(seen).toEqual([{ url: '/a?b=c', host: 'web', agent: 'node-agent-probe', own: 'b' }])
})

test.each([
  [{ path: '/a b\r\nX: y' }, 'Request path contains unescaped characters'],
  [{ headers: [['a b', 'c']] }, 'must be a valid HTTP token'],
  [{ headers: [['a', 'b\r\nc']] }, 'Invalid character in header content'],
] as readonly (readonly [Partial<ProbeTarget>, string])[])(
  '%j is a failure',
  async (own, words) => {
    const target = { ...http, port: 1, ...own } as ProbeTarget
    expect(await runProbe(target, 5_000)).toMatchObject({
      outcome: 'fail',
      message: expect.stringContaining(words),
    })
  },
)

test('accepted, refused, silent', async () => {
  const server = createServer(() => undefined)
  const port = await listening(server)
  const tcp = { kind: 'tcp', host: '127.0.0.1', port } as const
  expect(await runProbe(tcp, 5_000)).toMatchObject({ outcome: 'pass' })
  expect(await runProbe({ ...http, port }, 50)).toEqual({
    outcome: 'fail',
    message: 'no answer within 0.05 s',
  })
  server.close()
  expect(await runProbe(tcp, 5_000)).toMatchObject({
    outcome: 'fail',
    message: expect.stringContaining('ECONNREFUSED'),
  })
})

test.each([60_000.5, 2 ** 33])('may take %f ms', async (timeoutMs) => {
  const port = await listening(createServer(() => undefined))
  const target = { kind: 'tcp', host: '127.0.0.1', port } as const
  expect(await runProbe(target, timeoutMs)).toMatchObject({ outcome: 'pass' })
})

test('probes from another process, and starts it again when it ended', async () => {
  const port = await listening(createServer(() => undefined))
  const prober = new Prober(namespaceNamed(undefined))
  onTestFinished(() => prober.close())
  const tcp = { kind: 'tcp', host: '127.0.0.1', port } as const
  expect(await prober.probe(tcp, 5_000)).toMatchObject({ outcome: 'pass' })
  const waiting = prober.probe({ ...http, port }, 60_000)
  await prober.close()
  expect(await waiting).toEqual({ outcome: 'unknown', message: 'the prober has ended' })
  expect(await prober.probe(tcp, 5_000)).toMatchObject({ outcome: 'pass' })
})
