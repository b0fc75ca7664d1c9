import { Socket as DatagramSocket } from 'node:dgram'
import { Server } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import type { IpAddress } from '../../lib/ip.ts'
import type { Relays } from './relays.ts'
import { SocketRelays } from './socket-relays.ts'
import { FakeRelays } from './testing/fake-relays.ts'
import { datagrams, dial, endOf, hear, LOOPBACK, relayTo, serveTcp } from './testing/peers.ts'

const relays = new SocketRelays()
const cleanups: (() => unknown)[] = []

afterEach(async () => {
  await relays.closeAll()
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function echo(host: string = LOOPBACK) {
  const { server, address } = await serveTcp((socket) => socket.pipe(socket), { host })
  cleanups.push(() => server.close())
  return address
}

test('an address in use is refused, and other relays keep working', async () => {
  const relay = await relayTo('TCP', await echo())
  const { server } = await serveTcp(() => undefined, { port: relay.listen.port })
  expect(await relays.open(relay)).toEqual({
    code: 'NP_KERNEL_RELAY',
    message: `cannot listen on tcp/127.0.0.1:${relay.listen.port}: EADDRINUSE`,
  })
  expect(relays.list()).toEqual([])
  server.close()
  expect(await relays.open(relay)).toBeUndefined()
})

test('a UDP port in use and an address of another node are refused', async () => {
  const { socket, address } = await datagrams(() => undefined)
  cleanups.push(() => socket.close())
  const taken = await relays.open({ protocol: 'UDP', listen: address, target: address })
  expect(taken?.message).toBe(`cannot listen on udp/127.0.0.1:${address.port}: EADDRINUSE`)
  const listen = { ip: '192.0.2.1' as IpAddress, port: address.port }
  const foreign = await relays.open({ protocol: 'TCP', listen, target: address })
  expect(foreign?.message).toContain('EADDRNOTAVAIL')
})

test.each([
  ['TCP', Server.prototype, 'listen'],
  ['UDP', DatagramSocket.prototype, 'bind'],
] as const)('a %s relay goes on after an error of its socket, and ends', async (...row) => {
  const [protocol, prototype, method] = row
  const relay = await relayTo(protocol, { ip: LOOPBACK, port: 9 })
  const opening = vi.spyOn(prototype as Server, method as 'listen')
  expect(await relays.open(relay)).toBeUndefined()
  const [socket] = opening.mock.contexts as Server[]
  opening.mockRestore()
  expect(socket?.emit('error', new Error('accept EMFILE'))).toBe(true)
  expect(relays.list()).toEqual([relay])
  await relays.closeAll()
  expect(relays.list()).toEqual([])
})

test('TCP and UDP share a port; the list names both', async () => {
  const tcp = await relayTo('TCP', await echo())
  const udp = { ...tcp, protocol: 'UDP' } as const
  expect(await Promise.all([relays.open(tcp), relays.open(udp)])).toEqual([undefined, undefined])
  expect(relays.list()).toEqual([tcp, udp])
  await relays.close('TCP', tcp.listen)
  expect(relays.list()).toEqual([udp])
})

test('a new target is for new connections; a closed relay keeps those it has', async () => {
  const relay = await relayTo('TCP', await echo())
  await relays.open(relay)
  const old = await dial(relay.listen)
  await expect.poll(() => relays.connections()).toBe(1)
  const other = await serveTcp((socket) => socket.end('other'))
  cleanups.push(() => other.server.close())
  await relays.open({ ...relay, target: other.address })
  expect(relays.list()).toEqual([{ ...relay, target: other.address }])
  const fresh = await dial(relay.listen)
  fresh.end()
  expect(await hear(fresh)).toBe('other')
  await relays.close('TCP', relay.listen)
  await expect(dial(relay.listen)).rejects.toThrow('ECONNREFUSED')
  old.end('still served')
  expect(await hear(old)).toBe('still served')
  await expect.poll(() => relays.connections()).toBe(0)
})

test('operations take effect in the order of the calls', async () => {
  const relay = await relayTo('TCP', await echo())
  const all = [relays.open(relay), relays.close('TCP', relay.listen), relays.open(relay)]
  expect(await Promise.all(all)).toEqual([undefined, undefined, undefined])
  expect(relays.list()).toEqual([relay])
  await dial(relay.listen).then((socket) => socket.destroy())
})

test('closeAll resets what is left, of closed relays too', async () => {
  const target = await echo()
  const [one, two] = [await relayTo('TCP', target), await relayTo('TCP', target)]
  await relays.open(one)
  await relays.open(two)
  const clients = [await dial(one.listen), await dial(two.listen)]
  const ends = clients.map(endOf)
  await expect.poll(() => relays.connections()).toBe(2)
  await relays.close('TCP', one.listen)
  await relays.closeAll()
  expect(await Promise.all(ends)).toEqual(['ECONNRESET', 'ECONNRESET'])
  expect([relays.list(), relays.connections()]).toEqual([[], 0])
})

test('serves IPv6, beside IPv4 on the same port', async () => {
  const v6 = await echo('::1')
  const relay = { protocol: 'TCP', listen: { ...v6, port: v6.port }, target: v6 } as const
  const v4 = await relayTo('TCP', v6)
  const listen = { ip: '::1' as IpAddress, port: v4.listen.port }
  expect(await relays.open({ ...relay, listen })).toBeUndefined()
  expect(await relays.open(v4)).toBeUndefined()
  for (const address of [listen, v4.listen]) {
    const client = await dial(address)
    client.end('hello')
    expect(await hear(client)).toBe('hello')
  }
})

test('the fake answers as the real one', async () => {
  const fake = new FakeRelays()
  const listen = { ip: LOOPBACK, port: 30_080 }
  const relay = { protocol: 'TCP', listen, target: { ...listen, port: 1 } } as const
  fake.taken.add('tcp/127.0.0.1:30080')
  expect(await fake.open(relay)).toEqual({
    code: 'NP_KERNEL_RELAY',
    message: 'cannot listen on tcp/127.0.0.1:30080: EADDRINUSE',
  })
  fake.taken.clear()
  const other: Relays = fake
  await other.open(relay)
  await other.open({ ...relay, target: listen })
  expect(other.list()).toEqual([{ ...relay, target: listen }])
  await other.close('TCP', listen)
  expect(other.list()).toEqual([])
  await other.open(relay)
  fake.openConnections = 3
  expect(other.connections()).toBe(3)
  await other.closeAll()
  expect([other.list(), other.connections()]).toEqual([[], 0])
})
