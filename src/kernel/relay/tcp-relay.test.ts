import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { freePort } from '../../lib/testing/free-port.ts'
import type { RelayAddress } from './relays.ts'
import { SocketRelays } from './socket-relays.ts'
import { call, dial, endOf, hear, LOOPBACK, relayTo, serveTcp } from './testing/peers.ts'

const clock = new FakeClock()
const relays = new SocketRelays(clock)
const cleanups: (() => unknown)[] = []

afterEach(async () => {
  await relays.closeAll()
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

/** A target, a relay in front of it, and one connection through both. */
async function connected(): Promise<{ client: Socket; target: Socket; listen: RelayAddress }> {
  const accepted = Promise.withResolvers<Socket>()
  const { server, address } = await serveTcp(accepted.resolve)
  cleanups.push(() => server.close())
  const relay = await relayTo('TCP', address)
  expect(await relays.open(relay)).toBeUndefined()
  const client = await dial(relay.listen)
  const target = await accepted.promise
  cleanups.push(() => [client, target].map((socket) => socket.destroy()))
  return { client, target, listen: relay.listen }
}

test('data of the client reaches the target, which may answer after the FIN of the client', async () => {
  const { client, target } = await connected()
  client.write('one ')
  client.end('two')
  expect(await hear(target)).toBe('one two')
  target.end('answer after the end')
  expect(await hear(client)).toBe('answer after the end')
  await expect.poll(() => relays.connections()).toBe(0)
})

test('the target may send its FIN first', async () => {
  const { client, target } = await connected()
  target.end('banner')
  expect(await hear(client)).toBe('banner')
  client.end('late words')
  expect(await hear(target)).toBe('late words')
  await expect.poll(() => relays.connections()).toBe(0)
})

test.each(['client', 'target'] as const)(
  'a reset by the %s is a reset for the other',
  async (who) => {
    const { client, target } = await connected()
    const [one, other] = who === 'client' ? [client, target] : [target, client]
    const end = endOf(other)
    one.resetAndDestroy()
    expect(await end).toBe('ECONNRESET')
    await expect.poll(() => relays.connections()).toBe(0)
  },
)

test('a client that closes before the answer is noticed when the target sends data', async () => {
  const { client, target } = await connected()
  client.end('question')
  expect(await hear(target)).toBe('question')
  client.destroy()
  const end = endOf(target)
  while (!target.destroyed) {
    target.write('unheard')
    await nextTurn()
  }
  expect(['ECONNRESET', 'EPIPE']).toContain(await end)
})

test('a target that refuses is a reset for the client', async () => {
  const relay = await relayTo('TCP', { ip: LOOPBACK, port: await freePort() })
  await relays.open(relay)
  expect(await endOf(call(relay.listen))).toBe('ECONNRESET')
  await expect.poll(() => relays.connections()).toBe(0)
})

test('a target that does not read stops its client, and nothing is lost', async () => {
  const { client, target } = await connected()
  const chunk = Buffer.alloc(1 << 20, 'x')
  let sent = 0
  while (sent < 256 && !(await isStuck(client, chunk))) sent++
  expect(sent).toBeLessThan(64)
  const heard = hear(target)
  client.end()
  expect((await heard).length).toBe((sent + 1) * chunk.length)
})

/** Whether the buffers are full for this chunk: it is still on its way after the sockets were idle a while. */
async function isStuck(socket: Socket, chunk: Buffer): Promise<boolean> {
  const written = new Promise<boolean>((resolve) => socket.write(chunk, () => resolve(false)))
  return Promise.race([
    written,
    new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 500)),
  ])
}

test('a target that does not answer delays no other client, and ends in a reset', async () => {
  const silent = await silentTarget()
  const slow = await relayTo('TCP', silent)
  await relays.open(slow)
  const waiting = await dial(slow.listen)
  const end = endOf(waiting)
  const { client, target } = await connected()
  client.end('meanwhile')
  expect(await hear(target)).toBe('meanwhile')
  target.end()
  const { server, address } = await serveTcp((socket) => socket.end('other target'))
  cleanups.push(() => server.close())
  await relays.open({ ...slow, target: address })
  expect(await hear(await dial(slow.listen))).toBe('other target')
  expect(waiting.closed).toBe(false)
  await clock.advance(10_000)
  expect(await end).toBe('ECONNRESET')
})

/** A listener that accepts nothing and whose queue is full: the kernel drops further requests. */
async function silentTarget(): Promise<RelayAddress> {
  const program = `require('net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, function () {
    require('fs').writeSync(1, String(this.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
  })`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  cleanups.push(() => child.kill('SIGKILL'))
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  const address = { ip: LOOPBACK, port: Number(port) }
  const queued = await Promise.all([dial(address), dial(address)])
  cleanups.push(() => queued.map((socket) => socket.destroy()))
  return address
}

test('a client that closes while its target is connecting is forgotten', async () => {
  const relay = await relayTo('TCP', await silentTarget())
  await relays.open(relay)
  const client = await dial(relay.listen)
  await expect.poll(() => relays.connections()).toBe(1)
  client.resetAndDestroy()
  await clock.advance(10_000)
  await expect.poll(() => relays.connections()).toBe(0)
})

test('connections beyond the limit are reset, the others stay', async () => {
  const small = new SocketRelays(clock, { connections: 2 })
  cleanups.push(() => small.closeAll())
  const { server, address } = await serveTcp((socket) => socket.pipe(socket))
  cleanups.push(() => server.close())
  const relay = await relayTo('TCP', address)
  await small.open(relay)
  const first = await dial(relay.listen)
  const second = await dial(relay.listen)
  await expect.poll(() => small.connections()).toBe(2)
  expect(await endOf(call(relay.listen))).toBe('ECONNRESET')
  expect(small.connections()).toBe(2)
  first.end('still here')
  expect(await hear(first)).toBe('still here')
  second.destroy()
})
