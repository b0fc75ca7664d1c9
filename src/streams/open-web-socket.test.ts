import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openUpgraded } from './open-web-socket.ts'

/** A server that sends these bytes to each client and then ends the connection. */
async function serverOf(answer: string): Promise<URL> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end(answer))
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const address = server.address()
  return new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`)
}

test.each([
  ['before the answer', ''],
  ['within the body of a refusal', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 99\r\n\r\n{"mess'],
])('a connection that ends %s fails with a code', async (_when, answer) => {
  const url = await serverOf(answer)
  const opening = openUpgraded({ url, method: 'GET', headers: {} })
  await expect(opening).rejects.toMatchObject({ code: 'NP_STREAMS_CONNECT' })
})
