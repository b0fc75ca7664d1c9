import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { duplexPair } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { FakeClock } from '../lib/testing/fake-clock.ts'
import { StreamRefusal } from './node-streams.ts'
import { createForwardingClient, type ForwardingOptions, serveForwarding } from './port-forward.ts'
import { createSpdySession } from './spdy/spdy-session.ts'

function forwarded(dial: ForwardingOptions['connect']) {
  const [near, far] = duplexPair()
  const session = serveForwarding(far, { connect: dial, clock: systemClock })
  return { client: createForwardingClient(near), session }
}

/** A server on the loopback that returns what it gets; `ports` are those that were requested. */
async function echo() {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as { readonly port: number }
  const ports: number[] = []
  const dial: ForwardingOptions['connect'] = async (wanted) => {
    ports.push(wanted)
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    await once(socket, 'connect')
    return socket
  }
  return { dial, ports }
}

test('20 connections at once, 1 MB each way, with an end of each direction', async () => {
  const { dial, ports } = await echo()
  const { client, session } = forwarded(dial)
  const bodies = Array.from({ length: 20 }, (_, index) => Buffer.alloc(1_000_000, index))
  const echoes = bodies.map(async (body, index) => {
    const connection = await client.connect(8000 + index)
    connection.end(body)
    return (await buffer(connection)).equals(body)
  })
  expect(new Set(await Promise.all(echoes))).toEqual(new Set([true]))
  expect(ports).toEqual(bodies.map((_, index) => 8000 + index))
  client.close()
  await session.closed
})

test('a connection that is refused fails in the words of the node, and others go on', async () => {
  const { dial } = await echo()
  const { client } = forwarded(async (port) =>
    port === 1 ? new StreamRefusal('failed', 'connection refused') : dial(port),
  )
  const refused = await client.connect(1)
  const [error] = (await once(refused.resume(), 'error')) as unknown[]
  expect(error).toMatchObject({ code: 'NP_STREAMS_FORWARD', message: 'connection refused' })
  const other = await client.connect(2)
  other.end('through')
  expect(await text(other)).toBe('through')
})

test('a connection that the Pod breaks off ends; one that the client breaks off is closed', async () => {
  const [far, pod] = duplexPair()
  const { client } = forwarded(async () => far)
  const connection = await client.connect(80)
  connection.write('x')
  await once(pod, 'data')
  const closed = once(far, 'close')
  connection.destroy()
  await closed

  const [other, killed] = duplexPair()
  const again = forwarded(async () => other)
  const second = await again.client.connect(80)
  second.write('x')
  await once(killed, 'data')
  other.destroy()
  expect(await text(second)).toBe('')
})

test.each<[string, Readonly<Record<string, string>>]>([
  ['of no kind', { port: '80', requestid: '1' }],
  ['of another kind', { streamtype: 'stdin', port: '80', requestid: '1' }],
  ['of no connection', { streamtype: 'data', port: '80' }],
])('a stream %s is reset', async (_, headers) => {
  const [near, far] = duplexPair()
  serveForwarding(far, { connect: () => Promise.reject(new Error()), clock: systemClock })
  const session = createSpdySession(near, { role: 'client' })
  const { bytes } = session.open(new Map(Object.entries(headers)))
  expect(await once(bytes, 'error')).toMatchObject([{ code: 'NP_STREAMS_RESET' }])
})

test.each(['0', '65536', '08', 'http', ''])('the port %j is refused', async (port) => {
  const [near, far] = duplexPair()
  serveForwarding(far, { connect: () => Promise.reject(new Error()), clock: systemClock })
  const session = createSpdySession(near, { role: 'client' })
  const open = (type: string) =>
    session.open(new Map(Object.entries({ streamtype: type, port, requestid: '1' }))).bytes
  const [error] = [open('error'), open('data')]
  expect(await text(error)).toBe('the header port is no port')
})

test('a stream whose other one does not come is reset', async () => {
  const [near, far] = duplexPair()
  const clock = new FakeClock()
  serveForwarding(far, { connect: () => Promise.reject(new Error()), clock })
  const session = createSpdySession(near, { role: 'client' })
  const stream = session.open(
    new Map([
      ['streamtype', 'data'],
      ['requestid', '1'],
    ]),
  )
  await stream.accepted
  const failed = once(stream.bytes, 'error')
  await clock.advance(30_000)
  expect(await failed).toMatchObject([{ code: 'NP_STREAMS_RESET' }])
})

test('a stream that is reset before its other one comes is forgotten at once', async () => {
  const [near, far] = duplexPair()
  const clock = new FakeClock()
  serveForwarding(far, { connect: () => Promise.reject(new Error()), clock })
  const session = createSpdySession(near, { role: 'client' })
  const headers = { streamtype: 'error', requestid: '1' }
  const stream = session.open(new Map(Object.entries(headers)))
  await stream.accepted
  expect(clock.pending()).toEqual([30_000])
  stream.bytes.destroy()
  await expect.poll(() => clock.pending()).toEqual([])
})

test('a reason that is cut within a character is put together again', async () => {
  const [near, far] = duplexPair()
  createSpdySession(far, {
    role: 'server',
    onStream: (stream) => {
      stream.accept()
      if (stream.headers.get('streamtype') !== 'error') return
      const reason = Buffer.from('no “service”')
      stream.bytes.write(reason.subarray(0, 4))
      stream.bytes.end(reason.subarray(4))
    },
  })
  const connecting = createForwardingClient(near).connect(1)
  const [error] = (await connecting.then(
    (connection) => once(connection, 'error'),
    (failure: unknown) => [failure],
  )) as unknown[]
  expect(error).toMatchObject({ message: 'no “service”' })
})
