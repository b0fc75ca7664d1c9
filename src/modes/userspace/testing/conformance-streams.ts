import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { endOf, hear } from '../../../kernel/relay/testing/peers.ts'
import {
  backend,
  connected,
  connectTo,
  freeListener,
  LOOPBACK,
  listenerOf,
  type OpenTestForwarder,
  receiveAll,
  routeTo,
  sendRandom,
  serve,
} from './conformance-fixtures.ts'

const MEBIBYTE = 1 << 20

export function registerStreamTests(open: OpenTestForwarder): void {
  test('every byte arrives, both ways at once', async () => {
    const { forwarder, client, server } = await connected(open)
    const size = 32
    const [up, down, heardUp, heardDown] = await Promise.all([
      sendRandom(client, size),
      sendRandom(server, size),
      receiveAll(server),
      receiveAll(client),
    ])
    expect(heardUp).toEqual({ hash: up, bytes: size * MEBIBYTE })
    expect(heardDown).toEqual({ hash: down, bytes: size * MEBIBYTE })
    await expect
      .poll(() => forwarder.counts())
      .toMatchObject({
        connections: 1,
        connectionsNow: 0,
        bytesIn: size * MEBIBYTE,
        bytesOut: size * MEBIBYTE,
      })
  })

  test('the client may end first', async () => {
    const { forwarder, client, server } = await connected(open)
    client.end('question')
    expect(await hear(server)).toBe('question')
    server.end('answer after the end')
    expect(await hear(client)).toBe('answer after the end')
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(0)
  })

  test('the backend may end first', async () => {
    const { forwarder, client, server } = await connected(open)
    server.end('banner')
    expect(await hear(client)).toBe('banner')
    client.end('late words')
    expect(await hear(server)).toBe('late words')
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(0)
  })

  test('what a backend said before its reset arrives', async () => {
    const backends = createServer({ pauseOnConnect: true }).listen(0, LOOPBACK)
    onTestFinished(() => void backends.close())
    await once(backends, 'listening')
    const { port } = backends.address() as AddressInfo
    const forwarder = await open()
    const route = routeTo(await freeListener(), [{ ip: LOOPBACK, port }])
    await serve(forwarder, route)
    const accepted = once(backends, 'connection')
    const client = connectTo(listenerOf(route))
    client.write('question')
    const [server] = (await accepted) as [Socket]
    await expect.poll(() => unreadAt(port)).toBe(true)
    let heard = 0
    client.on('data', (bytes: Buffer) => {
      heard += bytes.length
    })
    const ended = endOf(client)
    server.write(Buffer.alloc(30_000), () => server.destroy())
    expect([await ended, heard]).toEqual(['ECONNRESET', 30_000])
  })

  test('small messages go back and forth', async () => {
    const { client, server } = await connected(open)
    server.pipe(server)
    for (let count = 0; count < 100; count++) {
      client.write(`message ${count}`)
      const [echo] = (await once(client, 'data')) as [Buffer]
      expect(echo.toString()).toBe(`message ${count}`)
    }
  })

  test.each(['client', 'server'] as const)(
    'a reset by the %s is one for the other',
    async (who) => {
      const link = await connected(open)
      const end = endOf(link[who === 'client' ? 'server' : 'client'])
      link[who].resetAndDestroy()
      expect(await end).toBe('ECONNRESET')
      await expect.poll(() => link.forwarder.counts().connectionsNow).toBe(0)
    },
  )

  test('a reset after the end of the other direction is one, too', async () => {
    const { forwarder, client, server } = await connected(open)
    client.end('question')
    expect(await hear(server)).toBe('question')
    const end = endOf(client)
    server.resetAndDestroy()
    expect(await end).toBe('ECONNRESET')
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(0)
  })

  registerBackPressureTests(open)
}

function registerBackPressureTests(open: OpenTestForwarder): void {
  test.each(['client', 'server'] as const)(
    'who does not read stops the other: %s',
    async (reader) => {
      const link = await connected(open)
      const [slow, writer] = [link[reader], link[reader === 'client' ? 'server' : 'client']]
      const chunk = Buffer.alloc(MEBIBYTE, 'x')
      const size = 128
      for (let count = 0; count < size; count++) writer.write(chunk)
      await transfer(link.forwarder, 64)
      expect(writer.writableLength).toBeGreaterThan((size / 2) * MEBIBYTE)
      writer.end()
      expect((await receiveAll(slow)).bytes).toBe(size * MEBIBYTE)
    },
  )

  test('a connection whose ends read nothing ends when it was idle for long', async () => {
    const { forwarder, client, server } = await connected(open, { idleMs: 100 })
    client.write(Buffer.alloc(64 * MEBIBYTE))
    await expect.poll(() => forwarder.counts().connectionsNow, { timeout: 10_000 }).toBe(0)
    expect(await Promise.all([endOf(server), endOf(client)])).toEqual(['ECONNRESET', 'ECONNRESET'])
  })

  /** Through another connection: what could have moved meanwhile has moved. */
  async function transfer(forwarder: Parameters<typeof serve>[0], mebibytes: number) {
    const accepted = Promise.withResolvers<Socket>()
    const target = await backend(accepted.resolve)
    const other = { id: 'shop/other:http/TCP/4' } as Parameters<typeof routeTo>[2]
    const route = routeTo(await freeListener(), [target], other)
    await serve(forwarder, route)
    const client = connectTo(listenerOf(route))
    const heard = receiveAll(await accepted.promise)
    const hash = await sendRandom(client, mebibytes)
    expect((await heard).hash).toBe(hash)
  }
}

/** Whether a connection of this local port has something that its process has not read. */
function unreadAt(port: number): boolean {
  const local = port.toString(16).toUpperCase().padStart(4, '0')
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .some(([, at, , state, queues]) => {
      return at?.endsWith(`:${local}`) && state === '01' && !queues?.endsWith(':00000000')
    })
}
