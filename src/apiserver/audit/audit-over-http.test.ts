import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { JsonObject } from '../../lib/json.ts'
import { jsonReply, type Reply, STREAMING } from '../request/api-request.ts'
import { type Audited, audited, requestFor } from './testing/audited.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** A connection to a real server. */
async function connected(handler: Handler): Promise<Socket> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
  })
  return socket
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nUser-Agent: test\r\n\r\n`
}

/** Handles requests as the server does; `/watch` is a stream without an end. */
function auditing(on: Audited, answer: (path: string) => Reply): Handler {
  return (request, response) => {
    const { url = '' } = request
    const { action, served, user } = requestFor(url === '/watch' ? 'watch pods' : 'list pods')
    const record = on.log.begin({ request, action, served, user })
    if (url === '/watch') {
      response.writeHead(200)
      response.write('x')
      record.respond(STREAMING, response)
      return
    }
    const sent = record.respond(answer(url), response) as Reply
    response.writeHead(sent.code)
    for (const chunk of sent.body) response.write(chunk)
    response.end()
  }
}

function completed(on: Audited): readonly JsonObject[] {
  return on.events().filter(({ stage }) => stage === 'ResponseComplete')
}

test('an answer is audited when it is sent, with the address of the client', async () => {
  const on = audited('[{level: RequestResponse}]')
  const socket = await connected(auditing(on, () => jsonReply(200, Buffer.from('{"items":[]}'))))
  socket.end(get('/a'))
  expect(await text(socket)).toContain('{"items":[]}')
  await expect.poll(() => completed(on).length).toBe(1)
  expect(completed(on)[0]).toMatchObject({
    requestURI: '/a',
    userAgent: 'test',
    sourceIPs: ['127.0.0.1'],
    responseStatus: { code: 200 },
    responseObject: { items: [] },
  })
})

test('a watch is audited when it ends, because its client goes', async () => {
  const on = audited('[{level: Metadata}]')
  const socket = await connected(auditing(on, () => jsonReply(200, Buffer.from('{}'))))
  socket.write(get('/watch'))
  await expect.poll(() => on.events().length).toBe(2)
  expect(on.events()[1]).toMatchObject({ stage: 'ResponseStarted', responseStatus: { code: 200 } })
  socket.destroy()
  await expect.poll(() => completed(on).length).toBe(1)
})

test('requests behind a watch of their connection are audited, although no answer can be sent', async () => {
  const on = audited('[{level: Metadata}]', 'omitStages: [RequestReceived, ResponseStarted]')
  const socket = await connected(auditing(on, () => jsonReply(201, Buffer.from('{}'))))
  socket.write(get('/watch') + get('/a') + get('/b'))
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
  await expect.poll(() => completed(on).map(({ requestURI }) => requestURI)).toHaveLength(3)
})

test('a client that goes in the middle of an answer leaves a record of it', async () => {
  const on = audited('[{level: RequestResponse}]')
  const large = Buffer.alloc(64 << 20, 0x20)
  const socket = await connected(auditing(on, () => jsonReply(200, large)))
  socket.write(get('/a'))
  await new Promise((resolve) => socket.once('data', resolve))
  socket.destroy()
  await expect.poll(() => completed(on).length).toBe(1)
  expect(completed(on)[0]).toMatchObject({
    responseStatus: { code: 200 },
    annotations: { 'audit.k8s.io/truncated': 'true' },
  })
})
