import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { StatusError } from '../status/status.ts'
import { RequestBodies } from './request-bodies.ts'

/** A server, and what begins a request whose headers announce `length` bytes. */
async function incoming() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const begin = async (length: number) => {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const came = once(server, 'request')
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`)
    const [request, response] = (await came) as [IncomingMessage, ServerResponse]
    return { socket, request, response }
  }
  return begin
}

async function deliver(socket: Socket, request: IncomingMessage, bytes: number): Promise<void> {
  const arrived = once(request, 'data')
  socket.write('x'.repeat(bytes))
  await arrived
}

function codeOrLength(outcome: Buffer | StatusError): number {
  return outcome instanceof StatusError ? outcome.status.code : outcome.length
}

test('the request that has been sending the longest is 429, and an answered request is no longer counted', async () => {
  const begin = await incoming()
  const bodies = new RequestBodies({ bytesPerBody: 100, totalBytes: 100 })
  const slow = await begin(90)
  const broken = bodies.receive(slow)
  await deliver(slow.socket, slow.request, 60)
  const quick = await begin(50)
  const whole = bodies.receive(quick)
  await deliver(quick.socket, quick.request, 50)
  expect([codeOrLength(await broken), codeOrLength(await whole)]).toEqual([429, 50])

  const late = await begin(60)
  const refused = bodies.receive(late)
  await deliver(late.socket, late.request, 60)
  expect(codeOrLength(await refused)).toBe(429)
  quick.response.end()
  await once(quick.response, 'close')
  const next = await begin(60)
  const taken = bodies.receive(next)
  await deliver(next.socket, next.request, 60)
  expect(codeOrLength(await taken)).toBe(60)
})

test('a body that the client breaks off is 400 and no longer counted', async () => {
  const begin = await incoming()
  const bodies = new RequestBodies({ bytesPerBody: 100, totalBytes: 100 })
  for (let round = 0; round < 3; round++) {
    const { socket, request, response } = await begin(90)
    const outcome = bodies.receive({ request, response })
    await deliver(socket, request, 80)
    socket.destroy()
    expect(codeOrLength(await outcome)).toBe(400)
  }
  const { socket, request, response } = await begin(90)
  const outcome = bodies.receive({ request, response })
  await deliver(socket, request, 90)
  expect(codeOrLength(await outcome)).toBe(90)
})
