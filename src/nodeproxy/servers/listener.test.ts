import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { parseIp } from '../../lib/ip.ts'
import { Listener } from './listener.ts'

/** Far below the 30 s after which Node looks for late requests by itself, and vitest gives up. */
const SHORT_MS = 200

async function listenWith(handler: RequestListener): Promise<number> {
  const listener = new Listener({
    address: { ip: parseIp('127.0.0.1')!, port: 0 },
    handler,
    clock: systemClock,
    timeouts: { arrival: SHORT_MS, keepAlive: SHORT_MS, stalled: SHORT_MS },
    onBlocked: (error) => expect.fail(error.message),
  })
  await listener.start()
  onTestFinished(() => listener.close())
  return listener.port!
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n'

test.each([
  ['sends nothing', ''],
  ['stops within its headers', `${GET}X-A: `],
  ['stops after an answer', `${GET}\r\n`],
  ['stops within the headers of its second request', `${GET}\r\n${GET}X-A: `],
])('a client that %s is disconnected', async (_what, bytes) => {
  const port = await listenWith((_request, response) => void response.end('fine'))
  const socket = await connected(port)
  socket.resume()
  socket.write(bytes)
  await once(socket, 'close')
  expect(socket.closed).toBe(true)
})

test('a client that never reads its answer is disconnected', async () => {
  const ended = Promise.withResolvers<boolean>()
  const port = await listenWith((_request, response) => {
    response.once('close', () => ended.resolve(response.writableFinished))
    response.end(Buffer.alloc(32 << 20))
  })
  const socket = await connected(port)
  socket.write(`${GET}\r\n`)
  expect(await ended.promise).toBe(false)
  socket.destroy()
})
