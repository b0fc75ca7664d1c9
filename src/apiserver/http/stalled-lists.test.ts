import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { POD, PODS, startApi, type TestApi } from '../testing/test-api.ts'

const MIB = 1 << 20

async function listWithoutReading(api: TestApi): Promise<Socket> {
  const socket = connect(api.port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(`GET ${PODS} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await once(socket, 'readable')
  return socket
}

test('clients that never read a long list cost one chunk of memory each, and are disconnected after 60 s', async () => {
  const clock = new FakeClock()
  const api = await startApi({ clock })
  const padding = 'x'.repeat(100_000)
  for (let index = 0; index < 200; index++) {
    await api.make(PODS, { metadata: { name: `p${index}`, annotations: { padding } }, spec: POD })
  }
  const before = process.memoryUsage()
  const sockets = await Promise.all(Array.from({ length: 20 }, () => listWithoutReading(api)))
  const after = process.memoryUsage()
  const grown = after.arrayBuffers + after.heapUsed - before.arrayBuffers - before.heapUsed
  expect(grown).toBeLessThan(100 * MIB)
  const { body } = await api.call('GET', PODS)
  expect(body['items']).toHaveLength(200)
  await clock.advance(60_000)
  for (const socket of sockets) {
    socket.resume()
    if (!socket.closed) await once(socket, 'close')
    expect(socket.closed).toBe(true)
  }
})
