import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { POD, PODS, startApi, type TestApi } from '../testing/test-api.ts'

const SLOW = 100
const MIB = 1 << 20

/** Watches and never reads what comes. */
async function watchWithoutReading(api: TestApi): Promise<Socket> {
  const socket = connect({ port: api.port, host: '127.0.0.1', onread: undefined })
  await once(socket, 'connect')
  socket.on('error', () => undefined)
  socket.write(`GET ${PODS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

async function write(api: TestApi, count: number, padding: string): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  for (let index = 0; index < count; index++) {
    const body = { metadata: { annotations: { padding, index: String(index) } } }
    await api.call('PATCH', `${PODS}/p`, { body, headers })
  }
}

test('100 watchers that never read cost bounded memory and do not delay other clients', async () => {
  const watchWindowBytes = 4 * MIB
  const api = await startApi({ limits: { watchWindowBytes } })
  await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  const slow = await Promise.all(Array.from({ length: SLOW }, () => watchWithoutReading(api)))
  const quick = await api.watch(`${PODS}?watch=1`)
  await quick.next()
  const before = process.memoryUsage()
  const rounds = 300
  const reading = quick.take(rounds)
  await write(api, rounds, 'x'.repeat(100_000))
  const seen = await reading
  expect(stringAt(seen.at(-1)?.object, 'metadata', 'annotations', 'index')).toBe(String(rounds - 1))
  const after = process.memoryUsage()
  const grown = after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers
  expect(grown).toBeLessThan(200 * MIB)
  await Promise.all(slow.map(closedByServer))
  quick.close()
})

/** Reads what is left until the server's end of the connection. */
async function closedByServer(socket: Socket): Promise<void> {
  socket.resume()
  if (!socket.closed) await once(socket, 'close')
}

test('a watcher that takes nothing for too long is disconnected', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  await api.make(PODS, { metadata: { name: 'p' }, spec: POD })
  const socket = await watchWithoutReading(api)
  await write(api, 100, 'x'.repeat(200_000))
  await clock.advance(60_000)
  await closedByServer(socket)
  expect(socket.closed).toBe(true)
})
