import { expect, test, vi } from 'vitest'
import {
  FOREIGN_TEXT,
  foreignAt,
  POD,
  SERVER,
  SERVER_KEY,
  serversOf,
  VIP,
} from '../../../../test/support/modes/fake-ipvs-node.ts'
import type { RealServer } from '../../../kernel/ipvs/ipvs.ts'
import { FakeIpvs } from '../../../kernel/ipvs/testing/fake-ipvs.ts'
import type { Clock } from '../../../lib/clock.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import type { ObjectKey } from '../../mode.ts'
import { ip } from '../../testing/mode-fixtures.ts'
import { serverKey } from '../objects/object.ts'
import { digestOf, flagsOf, type ServerSpec } from './server-spec.ts'
import { ServerWriter } from './server-writer.ts'
import { VirtualServers } from './virtual-servers.ts'

const OTHER = { ...VIP, port: 81 } as const
const UDP = { ...VIP, protocol: 'UDP' } as const

function spec(scheduler: string, ...pods: readonly string[]): ServerSpec {
  const servers = pods.map(
    (pod): RealServer => ({
      ip: ip(pod),
      port: 8080,
      weight: 1,
      forwarding: 'masquerade',
      upperThreshold: 0,
      lowerThreshold: 0,
    }),
  )
  return { settings: { scheduler, flags: flagsOf(scheduler), persistence: undefined }, servers }
}

function servers(
  ipvs = new FakeIpvs(['rr', 'sh', 'wlc']),
  scheduler = 'rr',
  clock: Pick<Clock, 'now'> = new FakeClock(),
) {
  const wanted = new Map<ObjectKey, ServerSpec>()
  const all = new VirtualServers(ipvs)
  const writer = new ServerWriter({
    ipvs,
    servers: all,
    clock,
    specOf: (key) => wanted.get(key),
    drains: (key) => !key.includes('/udp/'),
    scheduler,
  })
  const want = (id: typeof VIP | typeof OTHER | typeof UDP, one: ServerSpec) => {
    wanted.set(serverKey(id), one)
    return writer.apply([serverKey(id)], [])
  }
  return { ipvs, all, writer, want, wanted }
}

test('what is written is known, and another process reads the same', async () => {
  const { ipvs, all, want } = servers()
  const result = await want(VIP, spec('rr', '10.180.0.1', '10.180.0.2'))
  expect(result).toEqual({ failed: new Map(), left: new Map(), held: [] })
  expect(all.texts).toEqual(new Map([[SERVER_KEY, 'rr|10.180.0.1:8080*1 10.180.0.2:8080*1']]))
  const fresh = servers(ipvs).all
  await fresh.observe(() => true)
  expect(fresh.texts).toEqual(all.texts)
})

test('what is not ours is not read, and said to be taken as long as it is there', async () => {
  const { ipvs, all, want } = servers()
  await ipvs.run(foreignAt(VIP))
  await want(OTHER, spec('rr', '10.180.0.1'))
  await all.observe(() => false)
  expect([...all.texts.keys()]).toEqual([serverKey(OTHER)])
  expect(await all.foreignAmong([SERVER_KEY, serverKey(OTHER), serverKey(UDP)])).toEqual(
    new Set([SERVER_KEY]),
  )
  await all.observeSome([SERVER_KEY])
  expect([...all.texts.keys()]).toEqual([serverKey(OTHER)])
  await ipvs.run([{ do: 'deleteService', id: VIP }])
  expect(await all.foreignAmong([SERVER_KEY])).toEqual(new Set())
})

test('one that exists already gets nothing of ours', async () => {
  const { ipvs, all, want } = servers()
  await ipvs.run(foreignAt(VIP))
  const { failed, left } = await want(VIP, spec('rr', '10.180.0.1'))
  expect(failed.get(SERVER_KEY)?.code).toBe('NP_IPVS_FOREIGN')
  expect(left.size).toBe(0)
  expect(all.texts.size).toBe(0)
  expect(await serversOf({ ipvs })).toEqual({ [SERVER]: FOREIGN_TEXT })
  expect(await all.foreignAmong([SERVER_KEY])).toEqual(new Set([SERVER_KEY]))
})

test('the default scheduler stands in with its own flags; what is there is reported', async () => {
  const { ipvs, want } = servers(undefined, 'sh')
  const { failed, left } = await want(VIP, spec('lblc', '10.180.0.1'))
  expect(failed.get(SERVER_KEY)?.code).toBe('NP_IPVS_SCHEDULER')
  expect(await serversOf({ ipvs })).toEqual({ [SERVER]: 'sh fallback|10.180.0.1:8080*1' })
  expect(left.get(SERVER_KEY)).toBe(digestOf('sh fallback|10.180.0.1:8080*1'))
})

test('a foreign one that is made meanwhile is left alone as well', async () => {
  const { ipvs, want } = servers()
  const run = ipvs.run.bind(ipvs)
  ipvs.run = async (commands) => {
    ipvs.run = run
    const refusals = await run(commands)
    await run(foreignAt(VIP))
    return refusals
  }
  const { failed } = await want(VIP, spec('lblc', '10.180.0.1'))
  expect(failed.get(SERVER_KEY)?.code).toBe('NP_IPVS_FOREIGN')
  expect(await serversOf({ ipvs })).toEqual({ [SERVER]: FOREIGN_TEXT })
})

test('where the default scheduler is missing too there is nothing, and nothing is known', async () => {
  const { ipvs, all, want } = servers(undefined, 'nq')
  const { failed, left } = await want(VIP, spec('nq', '10.180.0.1'))
  expect(failed.get(SERVER_KEY)?.code).toBe('NP_IPVS_SCHEDULER')
  expect([await serversOf({ ipvs }), left.size, all.texts.size]).toEqual([{}, 0, 0])
})

test('what was refused in part is reported as it is', async () => {
  const { ipvs, all, want } = servers()
  ipvs.refuse(
    'ENOMEM',
    (command) => command.do === 'addServer' && command.server.ip === '10.180.0.2',
  )
  const { failed, left } = await want(VIP, spec('rr', '10.180.0.1', '10.180.0.2'))
  expect(failed.get(SERVER_KEY)).toMatchObject({ code: 'NP_IPVS_REFUSED' })
  expect(failed.get(SERVER_KEY)?.message).toContain('10.180.0.2:8080')
  expect(left.get(SERVER_KEY)).toBe(digestOf('rr|10.180.0.1:8080*1'))
  expect(all.texts.get(SERVER_KEY)).toBe('rr|10.180.0.1:8080*1')
})

test('an idle one goes at once, a busy one is held, and one without draining goes busy or not', async () => {
  const { ipvs, all, writer, want } = servers()
  for (const id of [VIP, OTHER, UDP]) await want(id, spec('rr', '10.180.0.1'))
  ipvs.setConnections(VIP, POD, { activeConnections: 1 })
  ipvs.setConnections(OTHER, POD, { inactiveConnections: 5 })
  ipvs.setConnections(UDP, POD, { activeConnections: 1 })
  const { held, failed } = await writer.apply([], [VIP, OTHER, UDP].map(serverKey))
  expect([held, failed.size]).toEqual([[SERVER_KEY], 0])
  expect(await serversOf({ ipvs })).toEqual({ [SERVER]: 'rr|10.180.0.1:8080*0' })
  expect(all.texts).toEqual(new Map([[SERVER_KEY, 'rr|10.180.0.1:8080*0']]))
})

test('one that is gone already is no failure, one that cannot go stays known', async () => {
  const { ipvs, all, writer, want } = servers()
  for (const id of [VIP, OTHER]) await want(id, spec('rr', '10.180.0.1'))
  await ipvs.run([{ do: 'deleteService', id: OTHER }])
  ipvs.refuse('EPERM', (command) => {
    return command.do === 'deleteService' && 'port' in command.id && command.id.port === 80
  })
  const { failed } = await writer.apply([], [VIP, OTHER].map(serverKey))
  expect([...failed.keys()]).toEqual([SERVER_KEY])
  expect([...all.texts.keys()]).toEqual([SERVER_KEY])
})

test('commands sent from outside are taken for done, until the kernel refuses one', async () => {
  const { ipvs, all, want } = servers()
  await want(VIP, spec('rr', '10.180.0.1', '10.180.0.2'))
  const text = 'rr|10.180.0.1:8080*1'
  const command = {
    do: 'deleteServer',
    id: VIP,
    server: { ip: ip('10.180.0.2'), port: 8080 },
  } as const
  const allow = ipvs.refuse('EPERM', ({ do: what }) => what.startsWith('delete'))
  await all.send([command], new Map([[SERVER_KEY, text]]))
  expect(all.texts.get(SERVER_KEY)).toContain('10.180.0.2')
  await all.deleteAll([SERVER_KEY])
  expect(all.texts.has(SERVER_KEY)).toBe(true)
  allow()
  await all.send([command], new Map([[SERVER_KEY, text]]))
  expect(all.texts.get(SERVER_KEY)).toBe(text)
  await all.deleteAll([SERVER_KEY])
  expect([all.texts.size, await serversOf({ ipvs })]).toEqual([0, {}])
})

test('real servers with their connections', async () => {
  const { ipvs, all, want } = servers()
  await want(VIP, spec('rr', '10.180.0.1'))
  ipvs.setConnections(VIP, POD, { activeConnections: 2 })
  const states = await all.states([SERVER_KEY, serverKey(OTHER)])
  expect([...states.keys()]).toEqual([SERVER_KEY])
  expect(states.get(SERVER_KEY)).toMatchObject([{ ip: '10.180.0.1', activeConnections: 2 }])
})

test('when the kernel searches, real servers go from the last virtual server to the first', async () => {
  let now = 0
  const { ipvs, all, writer, wanted } = servers(undefined, undefined, { now: () => (now += 100) })
  const ids = Array.from({ length: 150 }, (_, n) => ({ ...VIP, port: 1000 + n }))
  for (const id of ids) wanted.set(serverKey(id), spec('rr', '10.180.0.1', '10.180.0.2'))
  expect((await writer.apply(ids.map(serverKey), [])).failed).toEqual(new Map())
  const sent = ipvs.runs.flat()
  const later = sent.slice(sent.findIndex(({ do: what }) => what === 'addServer') + 96)
  const first = later.findIndex(({ do: what }) => what === 'addServer')
  expect(later.slice(0, first).map(({ do: what }) => what)).toEqual(
    Array.from({ length: 102 }, () => 'addService'),
  )
  const ports = later.slice(first).map(({ id }) => ('port' in id ? id.port : 0))
  expect(ports).toEqual(ports.toSorted((a, b) => b - a))
  expect(ports).toHaveLength(204)
  const fresh = servers(ipvs).all
  await fresh.observe(() => true)
  expect(fresh.texts).toEqual(all.texts)
})

test('no list is read from a slow kernel where few virtual servers are written', async () => {
  let now = 0
  const { ipvs, want } = servers(undefined, undefined, { now: () => (now += 100) })
  const listed = vi.spyOn(ipvs, 'services')
  await want(VIP, spec('rr', '10.180.0.1'))
  await want(VIP, spec('rr', '10.180.0.1'))
  expect(listed).not.toHaveBeenCalled()
})
