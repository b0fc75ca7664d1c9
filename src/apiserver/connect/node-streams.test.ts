import { once } from 'node:events'
import { get as httpGet, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { newTestAuthority } from '../../../test/support/certificates/test-authority.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { NODE, type NodesOptions, startNodes } from './testing/nodes.ts'

const authority = await newTestAuthority('cluster')
const CHANGES = `${NODE}/proxy/inspection/v1/changes`

/** A node that begins its answer with a line and leaves it open, and a client that reads it. */
async function follow(more: Partial<NodesOptions> = {}) {
  const begun = Promise.withResolvers<ServerResponse>()
  const nodes = await startNodes({
    authority,
    handler(_, response) {
      response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
      response.write('{"n":1}\n')
      begun.resolve(response)
    },
    ...more,
  })
  const client = await open(nodes.api.url)
  return { ...nodes, client, source: await begun.promise }
}

function open(url: string): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = { headers: { authorization: 'Bearer root' }, agent: false }
  httpGet(`${url}${CHANGES}`, options, resolve).on('error', reject)
  return promise
}

async function line(client: IncomingMessage): Promise<string> {
  const [chunk] = (await once(client, 'data')) as Buffer[]
  return String(chunk)
}

test('an endless answer arrives line by line, and ends with that of the node', async () => {
  const { client, source } = await follow()
  expect(await line(client)).toBe('{"n":1}\n')
  source.write('{"n":2}\n')
  expect(await line(client)).toBe('{"n":2}\n')
  source.end('{"n":3}\n')
  expect(await text(client)).toBe('{"n":3}\n')
  expect(client.complete).toBe(true)
})

test('the head of an answer does not wait for its body', async () => {
  const begun = Promise.withResolvers<ServerResponse>()
  const { api } = await startNodes({
    authority,
    handler(_, response) {
      response.flushHeaders()
      begun.resolve(response)
    },
  })
  const client = await open(api.url)
  const source = await begun.promise
  source.end('body')
  expect(await text(client)).toBe('body')
})

test('the time for an answer ends with its head', async () => {
  const clock = new FakeClock()
  const { client, source } = await follow({ clock })
  await line(client)
  await clock.advance(600_000)
  source.end('{"n":2}\n')
  expect(await text(client)).toBe('{"n":2}\n')
})

test('an answer that the node cuts is cut', async () => {
  const { client, source } = await follow()
  await line(client)
  source.destroy()
  await expect(text(client)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('the request to the node ends with its client', async () => {
  const { client, source } = await follow()
  await line(client)
  client.destroy()
  await expect.poll(() => source.destroyed).toBe(true)
})

test('it ends with the server, on both sides', async () => {
  const { api, client, source } = await follow()
  await line(client)
  const [closed, ended] = [once(source, 'close'), text(client)]
  ended.catch(() => undefined)
  await api.server.close()
  await closed
  await expect(ended).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('a request whose node has not answered ends with the server', async () => {
  const arrived = Promise.withResolvers<void>()
  const { api, get } = await startNodes({ authority, handler: () => arrived.resolve() })
  const answer = get(CHANGES)
  await arrived.promise
  await api.server.close()
  expect((await answer).body).toMatchObject({ code: 503, message: 'the server is stopping' })
})

test('answers that run are limited, and leave the slots of other requests', async () => {
  const limits = { streams: 1, requestsInFlight: 4 }
  const { api, client, get } = await follow({ limits })
  await line(client)
  const { status, body } = await get(CHANGES)
  expect([status, body['reason']]).toEqual([429, 'TooManyRequests'])
  const metrics = (await get('/metrics')).text
  expect(metrics).toMatch(/current_inflight_requests\{request_kind="readOnly"\} 0/)
  client.destroy()
  const next = async (): Promise<number | undefined> => {
    const opened = await open(api.url)
    opened.destroy()
    return opened.statusCode
  }
  await expect.poll(next).toBe(200)
})

test('an answer that carries nothing for idleStreamTimeout ends', async () => {
  const { client } = await follow({ limits: { idleStreamTimeout: 1000 } })
  await expect(text(client)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

const MIB = 1 << 20
const STALLED_MS = 45_000

test('a client that takes nothing holds up the node, and is disconnected in the end', async () => {
  const clock = new FakeClock()
  let sent = 0
  const closed = Promise.withResolvers<void>()
  const { api } = await startNodes({
    authority,
    clock,
    limits: { stalledClientTimeout: STALLED_MS },
    handler(_, response) {
      response.once('close', closed.resolve)
      const chunk = Buffer.alloc(MIB / 4, 'x')
      const pump = (): void => {
        while (!response.destroyed && sent < 1000 * MIB) {
          sent += chunk.length
          if (response.write(chunk)) continue
          response.once('drain', pump)
          return
        }
      }
      pump()
    },
  })
  const socket = connect(api.port, '127.0.0.1')
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
  socket.write(`GET ${CHANGES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer root\r\n\r\n`)
  let before = -1
  const isHeldUp = (): boolean => {
    const isStill = sent > 0 && sent === before && clock.pending().includes(STALLED_MS)
    before = sent
    return isStill
  }
  await expect.poll(isHeldUp, { timeout: 20_000, interval: 100 }).toBe(true)
  expect(sent).toBeLessThan(64 * MIB)
  await clock.advance(STALLED_MS)
  await closed.promise
})
