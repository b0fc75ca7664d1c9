import { expect, test } from 'vitest'
import type { EntryId, ServiceKey } from '../../forwarding/entry.ts'
import { backend, entry, ip } from '../testing/mode-fixtures.ts'
import { type RouteTraffic, readTraffic, type Tally } from './read-traffic.ts'

const tally = (count: number): Tally => ({
  connections: count,
  connectionsNow: 1,
  bytesIn: 10 * count,
  bytesOut: 100 * count,
})
const WEB = { id: 'shop/web:/TCP/4' as EntryId, service: 'shop/web' as ServiceKey }
const OLD = { id: 'shop/web:old/TCP/4' as EntryId, service: WEB.service }
const DB = { id: 'shop/db:/TCP/4' as EntryId, service: 'shop/db' as ServiceKey }

/** Two workers counted these; `old` is a route that was removed and has clients. */
const COUNTED: readonly RouteTraffic[] = [
  { ...WEB, total: tally(5), backends: [{ ip: ip('10.0.0.1'), port: 80, ...tally(3) }] },
  { ...WEB, total: tally(7), backends: [{ ip: ip('10.0.0.1'), port: 80, ...tally(7) }] },
  { ...OLD, total: tally(2), backends: [{ ip: ip('10.0.0.7'), port: 80, ...tally(2) }] },
  { ...DB, total: tally(1), backends: [{ ip: ip('10.0.0.9'), port: 80, ...tally(1) }] },
]

function rig() {
  const requested: boolean[] = []
  const pools = {
    cluster: [backend('10.0.0.1', { port: 80 }), backend('10.0.0.2', { port: 80 })],
    local: [],
  }
  const entries = () => [
    entry({ ...WEB, pools }),
    entry({ ...DB, pools: { cluster: [], local: [] } }),
  ]
  const read = readTraffic({
    program: { entries },
    forwarder: {
      async routeTraffic(withBackends) {
        requested.push(withBackends)
        return COUNTED
      },
    },
  })
  return { read, requested }
}

test('totals of all workers and routes, without present connections, which fall', async () => {
  const { read, requested } = rig()
  const { totals, backends } = await read()
  expect(totals.get(WEB.service)).toEqual({ connections: 14, bytesIn: 140, bytesOut: 1_400 })
  expect([backends.size, requested]).toEqual([0, [false]])
})

test('backends are summed over workers; one without a connection has 0, one of a removed route no row', async () => {
  const { read } = rig()
  const { backends } = await read((service) => service === WEB.service)
  expect([...backends.keys()]).toEqual([WEB.service])
  const of = { entry: WEB.id, port: 80 }
  expect(backends.get(WEB.service)).toEqual([
    {
      ...of,
      ip: '10.0.0.1',
      connections: 10,
      connectionsNow: 2,
      bytesIn: 100,
      bytesOut: 1_000,
    },
    { ...of, ip: '10.0.0.2', connections: 0, connectionsNow: 0, bytesIn: 0, bytesOut: 0 },
  ])
})

test('a backend that was removed and has clients is listed', async () => {
  const { backends } = await rig().read((service) => service === DB.service)
  expect(backends.get(DB.service)).toMatchObject([{ ip: '10.0.0.9', connections: 1 }])
})
