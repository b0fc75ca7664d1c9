import { expect, test } from 'vitest'
import { serversOf } from '../../../test/support/modes/fake-ipvs-node.ts'
import type { IpvsCommand, VirtualServerId } from '../../kernel/ipvs/ipvs.ts'
import { FakeIpvs } from '../../kernel/ipvs/testing/fake-ipvs.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { ip } from '../testing/mode-fixtures.ts'
import { Drainer } from './drainer.ts'
import { serverKey } from './objects/object.ts'
import { VirtualServers } from './servers/virtual-servers.ts'

const settings = { scheduler: 'rr', flags: [], persistence: undefined }
const idOf = (port: number): VirtualServerId => {
  return { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port }
}
const A = { ip: ip('10.0.0.1'), port: 80 }
const B = { ip: ip('10.0.0.2'), port: 80 }
const ONE = idOf(1)
const KEY = serverKey(ONE)
const TIME = 900_000

/** Virtual servers 1, 2, … with real servers A of weight `weight` and B of weight 0. */
async function draining(count = 1, weight = 1) {
  const ipvs = new FakeIpvs()
  const clock = new FakeClock()
  const server = {
    forwarding: 'masquerade' as const,
    upperThreshold: 0,
    lowerThreshold: 0,
  }
  const ids = Array.from({ length: count }, (_, n) => idOf(n + 1))
  await ipvs.run(
    ids.flatMap((id): IpvsCommand[] => [
      { do: 'addService', id, settings },
      { do: 'addServer', id, server: { ...A, weight, ...server } },
      { do: 'addServer', id, server: { ...B, weight: 0, ...server } },
    ]),
  )
  const servers = new VirtualServers(ipvs)
  await servers.observe(() => true)
  const drainer = new Drainer(servers, clock, () => TIME)
  for (const id of ids) ipvs.setConnections(id, B, { activeConnections: 1 })
  drainer.review(ids.map(serverKey))
  return { ipvs, clock, servers, drainer, ids }
}

test('a backend goes with its last connection, half open and closing ones included', async () => {
  const { ipvs, drainer } = await draining()
  expect([drainer.count, drainer.isEmpty]).toEqual([1, false])
  expect(await drainer.step()).toEqual([])
  ipvs.setConnections(ONE, B, { inactiveConnections: 1 })
  await drainer.step()
  expect(await serversOf({ ipvs })).toEqual({
    '4/tcp/10.96.0.1:1': 'rr|10.0.0.1:80*1 10.0.0.2:80*0',
  })
  ipvs.setConnections(ONE, B, {})
  await drainer.step()
  expect(await serversOf({ ipvs })).toEqual({ '4/tcp/10.96.0.1:1': 'rr|10.0.0.1:80*1' })
  expect([drainer.count, drainer.isEmpty]).toEqual([0, true])
})

test('its time is set once, when it left', async () => {
  const { ipvs, clock, drainer } = await draining()
  clock.elapse(TIME - 1)
  drainer.review([KEY])
  await drainer.step()
  expect(drainer.count).toBe(1)
  clock.elapse(1)
  await drainer.step()
  expect(await serversOf({ ipvs })).toEqual({ '4/tcp/10.96.0.1:1': 'rr|10.0.0.1:80*1' })
})

test('one that came back drains no longer, and has all its time when it leaves again', async () => {
  const { clock, servers, drainer } = await draining()
  const texts = (weight: number) => new Map([[KEY, `rr|10.0.0.1:80*1 10.0.0.2:80*${weight}`]])
  clock.elapse(TIME - 1)
  await servers.send([], texts(1))
  drainer.review([KEY])
  expect(drainer.count).toBe(0)
  await servers.send([], texts(0))
  drainer.review([KEY])
  clock.elapse(TIME - 1)
  await drainer.step()
  expect(drainer.count).toBe(1)
})

test('a virtual server that is held goes when no connection is established any more', async () => {
  const { ipvs, drainer } = await draining(1, 0)
  drainer.hold(KEY)
  ipvs.setConnections(ONE, A, { activeConnections: 1 })
  ipvs.setConnections(ONE, B, { inactiveConnections: 9 })
  expect(await drainer.step()).toEqual([])
  expect(Object.values(await serversOf({ ipvs }))).toEqual(['rr|10.0.0.1:80*0 10.0.0.2:80*0'])
  ipvs.setConnections(ONE, A, { inactiveConnections: 9 })
  expect(await drainer.step()).toEqual([KEY])
  expect(await serversOf({ ipvs })).toEqual({})
  expect([drainer.isHeld(KEY), drainer.isEmpty]).toEqual([false, true])
})

test('a virtual server that is held goes at its deadline, whatever its connections', async () => {
  const { clock, drainer } = await draining(1, 0)
  drainer.hold(KEY)
  clock.elapse(TIME)
  expect(await drainer.step()).toEqual([KEY])
})

test('one that is held and has no backend left goes too', async () => {
  const { ipvs, servers, drainer } = await draining(1, 0)
  drainer.hold(KEY)
  await ipvs.run([A, B].map((server) => ({ do: 'deleteServer', id: ONE, server }) as const))
  await servers.observeSome([KEY])
  drainer.review([KEY])
  expect([drainer.count, drainer.isEmpty]).toEqual([0, false])
  expect(await drainer.step()).toEqual([KEY])
})

test('one that another process removed is gone', async () => {
  const { ipvs, drainer } = await draining(1, 0)
  drainer.hold(KEY)
  await ipvs.flush()
  expect(await drainer.step()).toEqual([KEY])
  expect(drainer.isEmpty).toBe(true)
})

test('one that the kernel does not let go stays, and is tried again', async () => {
  const { ipvs, clock, drainer } = await draining(1, 0)
  drainer.hold(KEY)
  clock.elapse(TIME)
  const allow = ipvs.refuse('EPERM', (command) => command.do === 'deleteService')
  expect(await drainer.step()).toEqual([])
  expect([drainer.isHeld(KEY), drainer.count]).toEqual([true, 2])
  allow()
  expect(await drainer.step()).toEqual([KEY])
})

test('many are looked at in turns', async () => {
  const { ipvs, drainer, ids } = await draining(100)
  for (const [index, id] of ids.entries()) {
    ipvs.setConnections(id, B, { activeConnections: Number(index < 64) })
  }
  await drainer.step()
  expect(drainer.count).toBe(100)
  await drainer.step()
  expect(drainer.count).toBe(64)
})
