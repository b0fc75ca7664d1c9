import { once } from 'node:events'
import { expect, test } from 'vitest'
import { endOf } from '../../../kernel/relay/testing/peers.ts'
import type { Route } from '../route.ts'
import {
  cidr,
  connected,
  connectFrom,
  connectTo,
  freeListener,
  isAlive,
  listener,
  listenerOf,
  namedBackend,
  type OpenTestForwarder,
  routeTo,
  serve,
  visitTimes,
} from './conformance-fixtures.ts'

const OTHER_CLIENT = '127.0.0.2'

export function registerClientTests(open: OpenTestForwarder): void {
  registerAffinityTests(open)

  test('a client outside the source ranges is reset', async () => {
    const forwarder = await open()
    const at = await freeListener()
    const inside = listener(at, { sourceRanges: [cidr(`${OTHER_CLIENT}/32`)] })
    await serve(forwarder, routeTo(at, [await namedBackend('a')], { listeners: [inside] }))
    expect(await endOf(connectTo(at))).toBe('ECONNRESET')
    expect(await visitTimes(1, at, OTHER_CLIENT)).toEqual(['a'])
    expect(forwarder.counts()).toMatchObject({ outsideRanges: 1, connections: 1 })
  })

  test.each([
    ['all', { connections: 2 }, '127.0.0.2'],
    ['one address', { perClient: 2 }, '127.0.0.1'],
  ])('beyond the limit of %s clients are reset, the others live', async (_, limits, from) => {
    const link = await connected(open, limits)
    const second = connectTo(listenerOf(link.route))
    await once(second, 'connect')
    await expect.poll(() => link.forwarder.counts().connectionsNow).toBe(2)
    expect(await endOf(connectFrom(from, listenerOf(link.route)))).toBe('ECONNRESET')
    await expect
      .poll(() => link.forwarder.counts())
      .toMatchObject({
        overLimit: 1,
        connections: 2,
      })
    expect(await isAlive(link)).toBe(true)
  })

  test('where one left another one may come', async () => {
    const { forwarder, route, client } = await connected(open, { connections: 1 })
    client.resetAndDestroy()
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(0)
    const next = connectTo(listenerOf(route))
    await once(next, 'connect')
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(1)
    expect(forwarder.counts().overLimit).toBe(0)
  })

  test('a client that says nothing for long is reset', async () => {
    const { forwarder, client, server } = await connected(open, { idleMs: 100 })
    expect(await Promise.all([endOf(client), endOf(server)])).toEqual(['ECONNRESET', 'ECONNRESET'])
    await expect.poll(() => forwarder.counts().connectionsNow).toBe(0)
  })
}

function registerAffinityTests(open: OpenTestForwarder): void {
  /** A forwarder with two backends. */
  async function sticky() {
    const forwarder = await open()
    const backends = [await namedBackend('a'), await namedBackend('b')]
    const at = await freeListener()
    const change = (overrides: Partial<Route>, left = backends) =>
      serve(forwarder, routeTo(at, left, { affinity: { seconds: 10_800 }, ...overrides }))
    await change({})
    return { at, change, backends }
  }

  const other = (name: string | undefined) => (name === 'a' ? 'b' : 'a')

  test('a client comes back to its backend, another one is balanced anew', async () => {
    const { at } = await sticky()
    const names = await visitTimes(4, at)
    expect(new Set(names).size).toBe(1)
    const others = await visitTimes(4, at, OTHER_CLIENT)
    expect(new Set(others)).toEqual(new Set([other(names[0])]))
    expect(await visitTimes(1, at)).toEqual([names[0]])
  })

  test('a backend that left is replaced for good', async () => {
    const { at, change, backends } = await sticky()
    const [first] = await visitTimes(1, at)
    await change(
      {},
      backends.filter(({ name }) => name !== first),
    )
    expect(await visitTimes(1, at)).toEqual([other(first)])
    await change({})
    expect(await visitTimes(2, at)).toEqual([other(first), other(first)])
  })

  test('affinity is switched off and on while clients come', async () => {
    const { at, change } = await sticky()
    const [first] = await visitTimes(1, at)
    await change({ affinity: undefined })
    expect(new Set(await visitTimes(2, at)).size).toBe(2)
    await change({})
    const again = await visitTimes(3, at)
    expect(new Set(again).size).toBe(1)
    expect(['a', 'b']).toContain(first)
  })

  test('a timeout that is changed holds for clients that were here before', async () => {
    const { at, change } = await sticky()
    const [first] = await visitTimes(1, at)
    const came = Date.now()
    await change({ affinity: { seconds: 0.001 } })
    await expect.poll(() => Date.now() - came).toBeGreaterThan(2)
    const [second] = await visitTimes(1, at)
    expect(second).toBe(other(first))
    await change({})
    expect(await visitTimes(2, at)).toEqual([second, second])
  })

  test('a backend that refuses loses its clients to another', async () => {
    const forwarder = await open()
    const [good, dead] = [await namedBackend('good'), await freeListener()]
    const route = routeTo(await freeListener(), [dead, good], { affinity: { seconds: 10_800 } })
    await serve(forwarder, route)
    expect(new Set(await visitTimes(3, listenerOf(route)))).toEqual(new Set(['good']))
    expect(forwarder.counts().connectFailures).toBeLessThanOrEqual(1)
  })
}
