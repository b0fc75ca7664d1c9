import { once } from 'node:events'
import type { Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { resetSocket } from './tcp-relay.ts'
import { call, endOf, serveTcp } from './testing/peers.ts'

const cleanups: (() => unknown)[] = []

afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

async function pair() {
  const accepted = Promise.withResolvers<Socket>()
  const { server, address } = await serveTcp(accepted.resolve)
  const mine = call(address)
  cleanups.push(() => [mine.destroy(), server.close()])
  await once(mine, 'connect')
  return { mine, peer: await accepted.promise }
}

test.each([
  ['is open', () => undefined],
  ['has more to say before its end', (mine: Socket) => mine.end(Buffer.alloc(1 << 26))],
])('a connection that %s is reset', async (_, prepare) => {
  const { mine, peer } = await pair()
  const end = endOf(peer)
  prepare(mine)
  resetSocket(mine)
  expect(await Promise.all([end, endOf(mine)])).toEqual(['ECONNRESET', 'closed'])
})

test('a socket that is sending its FIN is closed, too', async () => {
  const { mine } = await pair()
  mine.end()
  await new Promise<void>((resolve) => process.nextTick(resolve))
  expect([mine.writableEnded, mine.writableFinished]).toEqual([true, false])
  const closed = once(mine, 'close')
  resetSocket(mine)
  await expect(closed).resolves.toBeDefined()
})

test('a socket that is connecting, or closed already, is ignored', async () => {
  const { server, address } = await serveTcp(() => undefined)
  cleanups.push(() => server.close())
  const mine = call(address)
  resetSocket(mine)
  resetSocket(mine)
  expect(await endOf(mine)).toBe('closed')
})
