import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import { endOf, serveTcp } from '../../../kernel/relay/testing/peers.ts'
import {
  connected,
  connectTo,
  freeListener,
  isAlive,
  listener,
  listenerOf,
  namedBackend,
  type OpenTestForwarder,
  routeTo,
  serve,
  visit,
  visitTimes,
} from './conformance-fixtures.ts'

const OTHER_ID = 'shop/other:http/TCP/4' as EntryId

export function registerChangeTests(open: OpenTestForwarder): void {
  registerDrainTests(open)
  registerListenerTests(open)

  test('connections outlive every change of their route', async () => {
    const link = await connected(open)
    const { forwarder, route } = link
    await serve(forwarder, { ...route, balancing: 'lc', affinity: { seconds: 60 } })
    await serve(forwarder, {
      ...route,
      listeners: [...route.listeners, listener(await freeListener())],
    })
    await serve(forwarder, { ...route, listeners: [] })
    await expect(once(connectTo(listenerOf(route)), 'connect')).rejects.toThrow('ECONNREFUSED')
    expect(await isAlive(link)).toBe(true)
  })

  test('several workers serve one listener', async () => {
    const forwarder = await open({}, 2)
    const at = await freeListener()
    await serve(forwarder, routeTo(at, [await namedBackend('a')]))
    expect(new Set(await visitTimes(20, at))).toEqual(new Set(['a']))
    await expect
      .poll(() => forwarder.counts())
      .toMatchObject({
        connections: 20,
        connectionsNow: 0,
      })
    expect(forwarder.workers).toBe(2)
  })

  test('closing resets what is left', async () => {
    const { forwarder, client, server } = await connected(open)
    server.write('welcome')
    await once(client, 'data')
    const ends = Promise.all([endOf(client), endOf(server)])
    await Promise.all([forwarder.close(), forwarder.close()])
    expect(await ends).toEqual(['ECONNRESET', 'ECONNRESET'])
    expect(forwarder.counts().connectionsNow).toBe(0)
  })
}

function registerDrainTests(open: OpenTestForwarder): void {
  test('a backend that left keeps its clients and gets no new ones', async () => {
    const link = await connected(open)
    const { forwarder, route } = link
    const at = listenerOf(route)
    await serve(forwarder, routeTo(at, [await namedBackend('new')]))
    expect(await visitTimes(2, at)).toEqual(['new', 'new'])
    expect(forwarder.counts().drainingNow).toBe(1)
    expect(await isAlive(link)).toBe(true)
    await expect.poll(() => forwarder.counts().drainingNow, { timeout: 5000 }).toBe(0)
    expect(forwarder.counts().drainedOut).toBe(0)
  })

  test.each(['backend', 'route'])(
    'clients of a %s that left are reset in the end',
    async (what) => {
      const { forwarder, route, client, server } = await connected(open, { drainMs: 100 })
      const ends = Promise.all([endOf(client), endOf(server)])
      const left = what === 'route' ? undefined : routeTo(listenerOf(route), [])
      await forwarder.apply(new Map([[route.id, left]]))
      expect(await ends).toEqual(['ECONNRESET', 'ECONNRESET'])
      await expect
        .poll(() => forwarder.counts())
        .toMatchObject({
          drainedOut: 1,
          connectionsNow: 0,
        })
    },
  )

  test('a route that left keeps its clients and takes no new ones', async () => {
    const link = await connected(open)
    const { forwarder, route } = link
    await forwarder.apply(new Map([[route.id, undefined]]))
    await expect(once(connectTo(listenerOf(route)), 'connect')).rejects.toThrow('ECONNREFUSED')
    expect(await isAlive(link)).toBe(true)
  })

  test('a backend that came back keeps the clients that it had', async () => {
    const link = await connected(open, { drainMs: 100 })
    const { forwarder, route } = link
    const other = routeTo(await freeListener(), [await namedBackend('other')], { id: OTHER_ID })
    await serve(forwarder, other)
    const { client } = await visit(listenerOf(other))
    await forwarder.apply(
      new Map([
        [route.id, undefined],
        [other.id, undefined],
      ]),
    )
    await serve(forwarder, route)
    expect(await endOf(client)).toBe('ECONNRESET')
    expect(await isAlive(link)).toBe(true)
  })

  test('until it is idle it serves on', async () => {
    const link = await connected(open)
    const { forwarder, route } = link
    const idle = forwarder.untilIdle(new AbortController().signal)
    expect(await isRefused(listenerOf(route))).toBe(false)
    expect(await isAlive(link)).toBe(true)
    await idle
    expect(forwarder.counts().connectionsNow).toBe(0)
    expect(await isRefused(listenerOf(route))).toBe(false)
  })

  test('draining takes no new clients and ends with the last one', async () => {
    const link = await connected(open)
    const { forwarder, route } = link
    const drained = forwarder.drain(new AbortController().signal)
    await expect.poll(() => isRefused(listenerOf(route)), { timeout: 5000 }).toBe(true)
    expect(await isAlive(link)).toBe(true)
    await drained
    expect(forwarder.counts().connectionsNow).toBe(0)
  })

  test('clients whom the kernel has let in before the end of listening are served', async () => {
    const forwarder = await open()
    const at = await freeListener()
    await serve(forwarder, routeTo(at, [await namedBackend('a')]))
    const clients = Array.from({ length: 800 }, () => connectTo(at))
    const named = Promise.all(clients.map(async (client) => String(await once(client, 'data'))))
    await setImmediate()
    const drained = forwarder.drain(new AbortController().signal)
    expect(new Set(await named)).toEqual(new Set(['a']))
    for (const client of clients) client.resetAndDestroy()
    await drained
  })

  test('one that listens at the same listener relieves it, though clients come all the time', async () => {
    const [before, after] = [await open(), await open()]
    const at = await freeListener()
    const route = routeTo(at, [await namedBackend('a')])
    await serve(before, route)
    const { client } = await visit(at)
    const relieved = before.untilIdle(new AbortController().signal)
    expect(await serve(after, route)).toEqual(new Map())
    await relieved
    expect(before.counts().connectionsNow).toBe(1)
    client.resetAndDestroy()
    await before.drain(new AbortController().signal)
    expect(await visitTimes(5, at)).toEqual(Array(5).fill('a'))
    expect(after.counts().connections).toBeGreaterThanOrEqual(5)
  })

  test('draining ends when it is aborted', async () => {
    const { forwarder } = await connected(open)
    const controller = new AbortController()
    const drained = forwarder.drain(controller.signal)
    controller.abort()
    await drained
    expect(forwarder.counts().connectionsNow).toBe(1)
  })
}

async function isRefused(at: Parameters<typeof connectTo>[0]): Promise<boolean> {
  const client = connectTo(at)
  const isTaken = await once(client, 'connect').then(
    () => true,
    () => false,
  )
  if (isTaken) client.resetAndDestroy()
  return !isTaken
}

function registerListenerTests(open: OpenTestForwarder): void {
  test('a listener that is taken is refused to its route, the others are served', async () => {
    const forwarder = await open()
    const { server, address } = await serveTcp(() => undefined)
    const [at, target] = [await freeListener(), await namedBackend('a')]
    const taken = routeTo(address, [target])
    const refused = await serve(forwarder, taken, routeTo(at, [target], { id: OTHER_ID }))
    const message = `cannot listen on 127.0.0.1:${address.port}: EADDRINUSE`
    expect(refused).toEqual(new Map([[taken.id, { code: 'NP_USERSPACE_LISTEN', message }]]))
    expect(await visitTimes(1, at)).toEqual(['a'])
    server.close()
    await once(server, 'close')
    expect(await serve(forwarder, taken)).toEqual(new Map())
    expect(await visitTimes(1, address)).toEqual(['a'])
  })

  test('a listener passes from one route to another, in either order', async () => {
    const forwarder = await open()
    const at = await freeListener()
    const old = routeTo(at, [await namedBackend('old')])
    const successor = routeTo(at, [await namedBackend('successor')], { id: OTHER_ID })
    await serve(forwarder, old)
    const { client, name } = await visit(at)
    await serve(forwarder, successor)
    await forwarder.apply(new Map([[old.id, undefined]]))
    expect([name, ...(await visitTimes(2, at))]).toEqual(['old', 'successor', 'successor'])
    await forwarder.apply(
      new Map([
        [successor.id, undefined],
        [old.id, old],
      ]),
    )
    expect(await visitTimes(2, at)).toEqual(['old', 'old'])
    expect(client.closed).toBe(false)
  })

  test('IPv6 is served beside IPv4 at the same port', async () => {
    const forwarder = await open()
    const target = await namedBackend('a')
    const four = await freeListener()
    const six = { ...(await freeListener('::1')), port: four.port }
    await serve(forwarder, routeTo(four, [target]), routeTo(six, [target], { id: OTHER_ID }))
    expect(await visitTimes(1, four)).toEqual(['a'])
    expect(await visitTimes(1, six, '::1')).toEqual(['a'])
  })
}
