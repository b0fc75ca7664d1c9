import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import { datagrams } from '../../../kernel/relay/testing/peers.ts'
import { freePort } from '../../../lib/testing/free-port.ts'
import type { ForwarderLimits } from '../forwarder.ts'
import type { Route } from '../route.ts'
import {
  cidr,
  type Endpoint,
  ip,
  LOOPBACK,
  listener,
  listenerOf,
  type OpenTestForwarder,
  routeTo,
  serve,
} from './conformance-fixtures.ts'

const UDP = { id: 'shop/dns:dns/UDP/4' as EntryId, protocol: 'UDP' } as const

export function registerDatagramTests(open: OpenTestForwarder): void {
  test('each client has a flow, and gets answers from the address that it sent to', async () => {
    const { at, forwarder } = await served(open, ['a'])
    const [one, other] = [await newClient(), await newClient()]
    const [first, second] = await Promise.all([request(one, at, 'x'), request(other, at, 'yy')])
    expect([first.size, second.size]).toEqual(['1', '2'])
    expect(first.port).not.toBe(second.port)
    expect((await request(one, at, 'x')).port).toBe(first.port)
    expect(first.from).toEqual(at)
    expect(forwarder.counts()).toMatchObject({
      udpFlows: 2,
      udpFlowsNow: 2,
      bytesIn: 4,
      connections: 0,
    })
  })

  test('datagrams keep their boundaries, empty and large ones too', async () => {
    const { at } = await served(open, ['a'])
    const client = await newClient()
    for (const size of [0, 1, 60_000]) {
      expect((await request(client, at, Buffer.alloc(size))).size).toBe(String(size))
    }
  })

  test('clients are balanced, one client keeps its backend', async () => {
    const { at } = await served(open, ['a', 'b'])
    const [one, other] = [await newClient(), await newClient()]
    const name = (await request(one, at)).name
    expect((await request(other, at)).name).not.toBe(name)
    expect((await request(one, at)).name).toBe(name)
  })

  test('affinity brings all ports of an address to one backend', async () => {
    const { at } = await served(open, ['a', 'b'], { affinity: { seconds: 60 } })
    const names = new Set<string>()
    for (let count = 0; count < 4; count++) names.add((await request(await newClient(), at)).name)
    expect(names.size).toBe(1)
  })

  test('a client that is silent for long is forgotten, and may come again', async () => {
    const { at, forwarder } = await served(open, ['a'], {}, { udpIdleMs: 100 })
    const client = await newClient()
    await request(client, at)
    await expect.poll(() => forwarder.counts().udpFlowsNow, { timeout: 5000 }).toBe(0)
    await request(client, at)
    expect(forwarder.counts().udpFlows).toBe(2)
  })

  test('what a backend refuses another one gets', async () => {
    const { at, route, forwarder } = await served(open, ['good'])
    const { cluster } = route.pools
    const dead = (await Promise.all([unusedPort(), unusedPort()])).map((each) => {
      return { ...each, weight: 1, local: false }
    })
    await serve(forwarder, { ...route, pools: { cluster: [...dead, ...cluster], local: [] } })
    for (let count = 0; count < 3; count++) {
      expect((await request(await newClient(), at)).name).toBe('good')
    }
    expect(forwarder.counts().connectFailures).toBeGreaterThan(0)
    expect(forwarder.counts().udpFlowsNow).toBe(3)
  })

  registerDatagramChangeTests(open)
}

function registerDatagramChangeTests(open: OpenTestForwarder): void {
  test('clients of a backend that left are sent elsewhere', async () => {
    const { at, route, forwarder } = await served(open, ['a'])
    const client = await newClient()
    expect((await request(client, at)).name).toBe('a')
    const pools = { cluster: [await named('b')], local: [] }
    await serve(forwarder, { ...route, pools })
    expect((await request(client, at)).name).toBe('b')
    expect(forwarder.counts().udpFlowsNow).toBe(1)
  })

  test('the flows of a route end with it', async () => {
    const { at, route, forwarder } = await served(open, ['a'])
    await request(await newClient(), at)
    await forwarder.apply(new Map([[route.id, undefined]]))
    await expect.poll(() => forwarder.counts().udpFlowsNow).toBe(0)
  })

  test('draining waits for no datagrams', async () => {
    const { at, forwarder } = await served(open, ['a'])
    await request(await newClient(), at)
    await forwarder.drain(new AbortController().signal)
    expect(forwarder.counts().udpFlowsNow).toBe(0)
  })

  test('source ranges and limits hold', async () => {
    const { at, route, forwarder } = await served(open, ['a'], {}, { connections: 4 })
    const inside = listener(at, { sourceRanges: [cidr('127.0.0.2/32')] })
    await serve(forwarder, { ...route, listeners: [inside] })
    const [outsider, one, other] = [
      await newClient(),
      await newClient('127.0.0.2'),
      await newClient('127.0.0.2'),
    ]
    outsider.send('x', at.port, at.ip)
    await expect.poll(() => forwarder.counts().outsideRanges).toBe(1)
    expect((await request(one, at)).name).toBe('a')
    expect((await request(other, at)).name).toBe('a')
    expect(forwarder.counts()).toMatchObject({ udpFlowsNow: 1, evicted: 1 })
  })

  test('a listener that is taken is refused', async () => {
    const { socket, address } = await datagrams(() => undefined)
    onTestFinished(() => void socket.close())
    const forwarder = await open()
    const refused = await serve(forwarder, routeTo(address, [], UDP))
    expect(refused.get(UDP.id)).toEqual({
      code: 'NP_USERSPACE_LISTEN',
      message: `cannot listen on 127.0.0.1:${address.port}: EADDRINUSE`,
    })
  })

  test('IPv6, and several workers', async () => {
    const { at } = await served(open, ['a'], {}, {}, { host: '::1', workers: 2 })
    for (let count = 0; count < 8; count++) {
      const answer = await request(await newClient('::1'), at)
      expect([answer.name, answer.from]).toEqual(['a', at])
    }
  })
}

/** A forwarder with a listener of datagrams and backends of these names. */
async function served(
  open: OpenTestForwarder,
  names: readonly string[],
  overrides: Partial<Route> = {},
  limits: Partial<ForwarderLimits> = {},
  { host = '127.0.0.1', workers = 1 } = {},
) {
  const forwarder = await open(limits, workers)
  const backends = await Promise.all(names.map((name) => named(name, host)))
  const route = routeTo(await unusedPort(host), backends, { ...UDP, ...overrides })
  expect(await serve(forwarder, route)).toEqual(new Map())
  return { forwarder, route, at: pick(listenerOf(route)) }
}

/** Answers each datagram with its name, the sender's port and the datagram's length. */
async function named(name: string, host: string = LOOPBACK) {
  const { socket, address } = await udpSocket(host)
  socket.on('message', (bytes, from) => {
    socket.send(`${name} ${from.port} ${bytes.length}`, from.port, from.address)
  })
  return { ...address, weight: 1, local: false }
}

async function newClient(host: string = LOOPBACK): Promise<Socket> {
  return (await udpSocket(host)).socket
}

async function request(client: Socket, at: Endpoint, datagram: string | Buffer = 'x') {
  const answer = once(client, 'message') as Promise<[Buffer, { address: string; port: number }]>
  client.send(datagram, at.port, at.ip)
  const [bytes, from] = await answer
  const [name = '', port = '', size = ''] = bytes.toString().split(' ')
  return { name, port, size, from: { ip: ip(from.address), port: from.port } }
}

async function unusedPort(host: string = LOOPBACK): Promise<Endpoint> {
  return { ip: ip(host), port: await freePort() }
}

async function udpSocket(host: string) {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
  socket.bind(0, host)
  await once(socket, 'listening')
  let isOpen = true
  socket.once('close', () => {
    isOpen = false
  })
  onTestFinished(() => {
    if (isOpen) socket.close()
  })
  return { socket, address: { ip: ip(host), port: socket.address().port } }
}

function pick({ ip, port }: Endpoint): Endpoint {
  return { ip, port }
}
