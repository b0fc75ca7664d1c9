import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import type { EntryId } from '../../../forwarding/entry.ts'
import type { Forwarder } from '../forwarder.ts'
import { backendsOf, totalsOf } from '../read-traffic.ts'
import type { Route } from '../route.ts'
import {
  backend,
  connectTo,
  type Endpoint,
  freeListener,
  LOOPBACK,
  listenerOf,
  type OpenTestForwarder,
  routeTo,
  serve,
} from './conformance-fixtures.ts'

/** What of a Service is counted by all workers, and by backend. */
async function counted(forwarder: Forwarder, route: Route) {
  const all = await forwarder.routeTraffic(true)
  const backends = backendsOf(all, [route as never]).get(route.service) ?? []
  return {
    total: totalsOf(all).get(route.service),
    of: ({ port }: Endpoint) => {
      const { entry, ip: _, port: __, ...numbers } = backends.find((one) => one.port === port) ?? {}
      expect(entry).toBe(route.id)
      return numbers
    },
  }
}

export function registerTrafficTests(open: OpenTestForwarder): void {
  test('connections and bytes by backend are what the backends counted, over all workers', async () => {
    const [one, two] = [await countingBackend(3), await countingBackend(1_000)]
    const forwarder = await open({}, 2)
    const route = routeTo(await freeListener(), [one, two])
    await serve(forwarder, route)
    for (const size of [1, 20, 300, 4_000, 50_000, 600_000]) await exchange(listenerOf(route), size)
    const heard = one.heard + two.heard
    const answered = 3 * one.connections + 1_000 * two.connections
    expect([one.connections + two.connections, heard]).toEqual([6, 654_321])
    const settled = async () => (await counted(forwarder, route)).of(one)
    await expect.poll(settled).toMatchObject({ connectionsNow: 0, bytesIn: one.heard })
    const { total, of } = await counted(forwarder, route)
    expect(total).toEqual({ connections: 6, bytesIn: heard, bytesOut: answered })
    for (const each of [one, two]) {
      expect(of(each)).toEqual({
        connections: each.connections,
        connectionsNow: 0,
        bytesIn: each.heard,
        bytesOut: each.connections * each.answer,
      })
    }
  })

  test('a connection counts from its beginning, with what it moved so far; a refused attempt does not', async () => {
    const dead = await freeListener()
    const talking = await backend((socket) => void socket.resume().write('welcome'))
    const forwarder = await open()
    const route = routeTo(await freeListener(), [dead, talking])
    await serve(forwarder, route)
    const client = connectTo(listenerOf(route))
    await once(client, 'data')
    client.write('hi')
    const present = { connections: 1, connectionsNow: 1, bytesIn: 2, bytesOut: 7 }
    await expect.poll(async () => (await counted(forwarder, route)).of(talking)).toEqual(present)
    const { of } = await counted(forwarder, route)
    expect(of(dead)).toEqual({ connections: 0, connectionsNow: 0, bytesIn: 0, bytesOut: 0 })
  })

  test('a backend that goes takes nothing from the Service and from the others', async () => {
    const [one, two] = [await countingBackend(5), await countingBackend(5)]
    const forwarder = await open()
    const route = routeTo(await freeListener(), [one, two])
    await serve(forwarder, route)
    for (const size of [10, 10, 10, 10]) await exchange(listenerOf(route), size)
    const ended = async () => (await counted(forwarder, route)).total
    const all = { connections: 4, bytesIn: 40, bytesOut: 20 }
    await expect.poll(ended).toEqual(all)
    const less = { ...route, pools: { cluster: route.pools.cluster.slice(1), local: [] } }
    await serve(forwarder, less)
    const { total, of } = await counted(forwarder, less)
    expect(total).toEqual(all)
    expect(of(two)).toMatchObject({ connections: 2, bytesIn: 20, bytesOut: 10 })
  })

  test('UDP flows and their bytes', async () => {
    const server = createSocket('udp4').bind(0, LOOPBACK)
    await once(server, 'listening')
    server.on('message', (_, { port, address }) => server.send('answer', port, address))
    const client = createSocket('udp4').bind(0, LOOPBACK)
    onTestFinished(() => {
      server.close()
      client.close()
    })
    const target = { ip: LOOPBACK, port: server.address().port }
    const forwarder = await open()
    const udp = { id: 'shop/dns:dns/UDP/4' as EntryId, protocol: 'UDP' } as const
    const route = routeTo(await freeListener(), [target], udp)
    await serve(forwarder, route)
    const { ip, port } = listenerOf(route)
    for (const request of ['x', 'yy']) {
      client.send(request, port, ip)
      await once(client, 'message')
    }
    const { of, total } = await counted(forwarder, route)
    expect(of(target)).toEqual({ connections: 1, connectionsNow: 1, bytesIn: 3, bytesOut: 12 })
    expect(total).toEqual({ connections: 1, bytesIn: 3, bytesOut: 12 })
  })
}

/** Hears everything until the client ends, then sends so many bytes and ends; counts for itself. */
async function countingBackend(answer: number) {
  const counts = { connections: 0, heard: 0 }
  const address = await backend((socket) => {
    counts.connections++
    socket.on('data', (bytes) => {
      counts.heard += bytes.length
    })
    socket.once('end', () => socket.end(Buffer.alloc(answer)))
  })
  return Object.assign(counts, address, { answer })
}

async function exchange(at: Endpoint, size: number): Promise<void> {
  const client = connectTo(at)
  client.resume().end(Buffer.alloc(size))
  await once(client, 'close')
}
