import type { Socket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { Relay, RelayAddress } from './relays.ts'
import { SocketRelays } from './socket-relays.ts'
import { datagrams, LOOPBACK, relayTo } from './testing/peers.ts'

const clock = new FakeClock()
const relays = new SocketRelays(clock, { flows: 2 })
const sockets: Socket[] = []

afterEach(async () => {
  await relays.closeAll()
  for (const socket of sockets.splice(0)) socket.close()
})

/** Answers each datagram with its name, the sender's port and the datagram's length. */
async function target(name: string, listen?: RelayAddress): Promise<RelayAddress> {
  const { socket, address } = await datagrams((bytes, from) => {
    socket.send(`${name} ${from.port} ${bytes.length}`, from.port, from.address)
  }, listen)
  sockets.push(socket)
  return address
}

async function newClient(): Promise<Socket> {
  const { socket } = await datagrams(() => undefined)
  sockets.push(socket)
  return socket
}

async function request(
  client: Socket,
  { listen }: Relay,
  datagram: string | Buffer,
): Promise<string[]> {
  const answer = once(client, 'message') as Promise<[Buffer]>
  client.send(datagram, listen.port, listen.ip)
  const [bytes] = await answer
  return bytes.toString().split(' ')
}

async function opened(address: RelayAddress): Promise<Relay> {
  const relay = await relayTo('UDP', address)
  expect(await relays.open(relay)).toBeUndefined()
  return relay
}

test('datagrams keep their boundaries, empty and large ones too', async () => {
  const relay = await opened(await target('a'))
  const client = await newClient()
  for (const size of [0, 1, 60_000]) {
    expect((await request(client, relay, Buffer.alloc(size)))[2]).toBe(String(size))
  }
})

test('datagrams that are sent before the flow exists all arrive', async () => {
  const sizes: number[] = []
  const done = Promise.withResolvers<void>()
  const { socket, address } = await datagrams((bytes) => {
    if (sizes.push(bytes.length) === 20) done.resolve()
  })
  sockets.push(socket)
  const { listen } = await opened(address)
  const client = await newClient()
  for (let size = 1; size <= 20; size++) client.send(Buffer.alloc(size), listen.port, listen.ip)
  await done.promise
  expect(sizes).toEqual(Array.from({ length: 20 }, (_, index) => index + 1))
})

test('every client has its own port and gets its own answers', async () => {
  const relay = await opened(await target('a'))
  const [one, other] = [await newClient(), await newClient()]
  const [first, second] = await Promise.all([request(one, relay, 'x'), request(other, relay, 'yy')])
  expect([first[2], second[2]]).toEqual(['1', '2'])
  expect(first[1]).not.toBe(second[1])
  expect((await request(one, relay, 'x'))[1]).toBe(first[1])
})

test('a client without datagrams is forgotten, one with datagrams is not', async () => {
  const relay = await opened(await target('a'))
  const [one, other] = [await newClient(), await newClient()]
  await request(one, relay, 'x')
  await clock.advance(20_000)
  const before = await request(other, relay, 'x')
  await clock.advance(20_000)
  expect(relays.connections()).toBe(1)
  expect((await request(other, relay, 'x'))[1]).toBe(before[1])
  await clock.advance(29_999)
  expect(relays.connections()).toBe(1)
  await clock.advance(1)
  expect(relays.connections()).toBe(0)
  await request(one, relay, 'x')
  await clock.advance(30_000)
  expect(relays.connections()).toBe(0)
})

test('a client that sends nothing is kept while it receives datagrams', async () => {
  const subscribed = Promise.withResolvers<number>()
  const { socket, address } = await datagrams((_bytes, from) => subscribed.resolve(from.port))
  sockets.push(socket)
  const relay = await opened(address)
  const client = await newClient()
  client.send('subscribe', relay.listen.port, relay.listen.ip)
  const port = await subscribed.promise
  for (const news of ['first', 'second', 'third']) {
    await clock.advance(20_000)
    const heard = once(client, 'message') as Promise<[Buffer]>
    socket.send(news, port, LOOPBACK)
    expect((await heard)[0].toString()).toBe(news)
  }
})

test('beyond the limit the client that was silent for longest is evicted', async () => {
  const relay = await opened(await target('a'))
  const [one, two, three] = [await newClient(), await newClient(), await newClient()]
  const first = await request(one, relay, 'x')
  const second = await request(two, relay, 'x')
  await request(one, relay, 'x')
  await request(three, relay, 'x')
  expect(relays.connections()).toBe(2)
  expect((await request(one, relay, 'x'))[1]).toBe(first[1])
  expect((await request(two, relay, 'x'))[1]).not.toBe(second[1])
})

test('another target is used from the next datagram on', async () => {
  const relay = await opened(await target('a'))
  const client = await newClient()
  expect((await request(client, relay, 'x'))[0]).toBe('a')
  await relays.open({ ...relay, target: await target('b') })
  expect((await request(client, relay, 'x'))[0]).toBe('b')
})

test('a target that refuses ends the flow, and the client may try again', async () => {
  const address = await target('early')
  const relay = await opened(address)
  const client = await newClient()
  await request(client, relay, 'x')
  expect(relays.connections()).toBe(1)
  sockets.shift()?.close()
  client.send('x', relay.listen.port, relay.listen.ip)
  await expect.poll(() => relays.connections()).toBe(0)
  await target('late', address)
  expect((await request(client, relay, 'x'))[0]).toBe('late')
})

test('a closed relay answers no client, and its port is free', async () => {
  const relay = await opened(await target('a'))
  const client = await newClient()
  await request(client, relay, 'x')
  await relays.close('UDP', relay.listen)
  expect(relays.connections()).toBe(0)
  await target('successor', relay.listen)
  expect((await request(client, relay, 'x'))[0]).toBe('successor')
})
