import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { endOf, hear } from '../../../kernel/relay/testing/peers.ts'
import type { Balancing } from '../route.ts'
import {
  backend,
  connectTo,
  type Endpoint,
  freeListener,
  ip,
  LOOPBACK,
  listener,
  listenerOf,
  namedBackend,
  type OpenTestForwarder,
  routeTo,
  serve,
  visit,
  visitTimes,
} from './conformance-fixtures.ts'

/** Given to backends to accept: long enough for one that does on a busy machine, as the next backend has no more. */
const CONNECT_MS = 1_000

export function registerBackendTests(open: OpenTestForwarder): void {
  test('a backend that refuses is replaced before the client notices', async () => {
    const forwarder = await open()
    const good = await namedBackend('good')
    const dead = [await freeListener(), await freeListener()]
    const route = routeTo(await freeListener(), [...dead, good])
    await serve(forwarder, route)
    expect(await visitTimes(4, listenerOf(route))).toEqual(['good', 'good', 'good', 'good'])
    const { connectFailures, unserved } = forwarder.counts()
    expect([connectFailures >= 1, unserved]).toEqual([true, 0])
  })

  test('a client that no backend takes is reset', async () => {
    const forwarder = await open()
    const route = routeTo(await freeListener(), [await freeListener(), await freeListener()])
    await serve(forwarder, route)
    expect(await endOf(connectTo(listenerOf(route)))).toBe('ECONNRESET')
    const empty = routeTo(listenerOf(route), [])
    await serve(forwarder, empty)
    expect(await endOf(connectTo(listenerOf(route)))).toBe('ECONNRESET')
    await expect
      .poll(() => forwarder.counts())
      .toMatchObject({
        unserved: 2,
        connectFailures: 2,
        connections: 2,
        connectionsNow: 0,
      })
  })

  test('no more backends are tried than allowed', async () => {
    const forwarder = await open({ attempts: 2 })
    const dead = await Promise.all([freeListener(), freeListener(), freeListener()])
    const route = routeTo(await freeListener(), dead)
    await serve(forwarder, route)
    expect(await endOf(connectTo(listenerOf(route)))).toBe('ECONNRESET')
    expect(forwarder.counts().connectFailures).toBe(2)
  })

  test('a backend that does not answer is given up in time', async () => {
    const forwarder = await open({ connectMs: CONNECT_MS })
    const silent = await silentBackend()
    const good = await namedBackend('good')
    const route = routeTo(await freeListener(), [silent, good])
    await serve(forwarder, route)
    expect(await visitTimes(3, listenerOf(route))).toEqual(['good', 'good', 'good'])
    await serve(forwarder, routeTo(listenerOf(route), [silent]))
    expect(await endOf(connectTo(listenerOf(route)))).toBe('ECONNRESET')
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(0)
  })

  test('a client that left while a backend was awaited leaves nothing', async () => {
    const forwarder = await open({ connectMs: 50, attempts: 1 })
    const route = routeTo(await freeListener(), [await silentBackend()])
    await serve(forwarder, route)
    const client = connectTo(listenerOf(route))
    await expect.poll(() => forwarder.counts().connections).toBe(1)
    client.resetAndDestroy()
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(0)
  })

  test.each(['', 'sent at once'])('what the client sent early is received: "%s"', async (words) => {
    const forwarder = await open({ connectMs: CONNECT_MS })
    const good = await backend(
      (socket) => void hear(socket).then((text) => socket.end(`<${text}>`)),
    )
    const route = routeTo(await freeListener(), [await silentBackend(), await freeListener(), good])
    await serve(forwarder, route)
    const clients = [
      connectTo(listenerOf(route)),
      connectTo(listenerOf(route)),
      connectTo(listenerOf(route)),
    ]
    for (const client of clients) client.end(words)
    expect(await Promise.all(clients.map(hear))).toEqual([1, 2, 3].map(() => `<${words}>`))
  })

  test('closing does not wait for a backend that does not answer', async () => {
    const forwarder = await open()
    const route = routeTo(await freeListener(), [await silentBackend()])
    await serve(forwarder, route)
    const end = endOf(connectTo(listenerOf(route)))
    await expect.poll(() => forwarder.counts().connections).toBe(1)
    await forwarder.close()
    expect(await end).toBe('ECONNRESET')
  })

  registerBalancingTests(open)
  registerProxyProtocolTests(open)
}

function registerBalancingTests(open: OpenTestForwarder): void {
  test('backends are served in turn', async () => {
    const { at } = await three(open)
    const names = await visitTimes(6, at)
    expect(new Set(names.slice(0, 3)).size).toBe(3)
    expect(names.slice(3)).toEqual(names.slice(0, 3))
  })

  test('weights say how many clients each gets', async () => {
    const { at } = await three(open, { weights: [3, 1, 2] })
    const names = await visitTimes(12, at)
    const counts = ['a', 'b', 'c'].map((name) => names.filter((each) => each === name).length)
    expect(counts).toEqual([6, 2, 4])
  })

  test('least connections: the one that lost a client gets the next', async () => {
    const { at, forwarder } = await three(open, { balancing: 'lc' })
    const visits = [await visit(at), await visit(at), await visit(at), await visit(at)]
    expect(new Set(visits.slice(0, 3).map(({ name }) => name)).size).toBe(3)
    const alone = visits.find(({ name }) => name !== visits[3]?.name)
    alone?.client.resetAndDestroy()
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(3)
    expect((await visit(at)).name).toBe(alone?.name)
  })
}

function registerProxyProtocolTests(open: OpenTestForwarder): void {
  test.each([
    ['127.0.0.1', 'TCP4'],
    ['::1', 'TCP6'],
  ] as const)('PROXY version 1 for %s', async (host, family) => {
    const { text, from, to } = await introduced(open, 'v1', host)
    expect(text.toString()).toBe(`PROXY ${family} ${host} ${host} ${from} ${to}\r\nhello`)
  })

  test('PROXY version 2', async () => {
    const { text, from, to } = await introduced(open, 'v2', LOOPBACK)
    const ports = Buffer.alloc(4)
    ports.writeUInt16BE(from, 0)
    ports.writeUInt16BE(to, 2)
    const head = '0d0a0d0a000d0a515549540a2111000c7f0000017f000001'
    expect(text.toString('hex')).toBe(
      head + ports.toString('hex') + Buffer.from('hello').toString('hex'),
    )
  })
}

/** What the backend receives when a client sends hello. */
async function introduced(open: OpenTestForwarder, proxyProtocol: 'v1' | 'v2', host: string) {
  const heard = Promise.withResolvers<Buffer>()
  const target = await backend((socket) => {
    socket.end()
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.once('end', () => heard.resolve(Buffer.concat(chunks)))
  }, host)
  const forwarder = await open()
  const route = routeTo(await freeListener(host), [target], { proxyProtocol })
  await serve(forwarder, route)
  const client = connectTo(listenerOf(route))
  await once(client, 'connect')
  const from = client.localPort ?? 0
  client.end('hello')
  return { text: await heard.promise, from, to: listenerOf(route).port }
}

/** A forwarder with one listener and backends `a`, `b` and `c`. */
async function three(
  open: OpenTestForwarder,
  {
    weights = [1, 1, 1],
    balancing = 'rr',
  }: { weights?: readonly number[]; balancing?: Balancing } = {},
) {
  const forwarder = await open()
  const names = ['a', 'b', 'c']
  const backends = await Promise.all(names.map(namedBackend))
  const weighted = backends.map((each, index) => ({ ...each, weight: weights[index] ?? 1 }))
  const at = await freeListener()
  await serve(forwarder, routeTo(at, weighted, { balancing, listeners: [listener(at)] }))
  return { forwarder, at }
}

/** A listener that accepts nothing and whose queue is full: the kernel drops further requests. */
async function silentBackend(): Promise<Endpoint> {
  const program = `require('net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () {
    require('fs').writeSync(1, String(this.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
  })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  const address = { ip: ip('127.0.0.1'), port: Number(port) }
  for (const socket of [connectTo(address), connectTo(address)]) await once(socket, 'connect')
  return address
}
