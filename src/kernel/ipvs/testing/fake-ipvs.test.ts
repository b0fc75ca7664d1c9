import { expect, test } from 'vitest'
import { NodeProxyError } from '../../../lib/error.ts'
import { type IpAddress, parseIp } from '../../../lib/ip.ts'
import type { RealServer } from '../ipvs.ts'
import { CONFORMANCE, runCase } from './conformance.ts'
import { FakeIpvs } from './fake-ipvs.ts'
import { NO_TRAFFIC } from './fake-table.ts'

const ip = (text: string) => parseIp(text) as IpAddress
const id = { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port: 80 } as const
const settings = { scheduler: 'rr', flags: [], persistence: undefined }
const server: RealServer = {
  ip: ip('10.1.0.4'),
  port: 8080,
  weight: 1,
  forwarding: 'masquerade',
  upperThreshold: 0,
  lowerThreshold: 0,
}

async function filled() {
  const ipvs = new FakeIpvs()
  await ipvs.run([
    { do: 'addService', id, settings },
    { do: 'addServer', id, server },
  ])
  return ipvs
}

test.each(CONFORMANCE)('$name', async (conformance) => {
  const { refused } = await runCase(new FakeIpvs(), conformance)
  expect(refused).toEqual(conformance.refused)
})

test('the fake has the servers that were added and not deleted', async () => {
  const ipvs = await filled()
  expect((await ipvs.services()).map((service) => service.id)).toEqual([id])
  expect(await ipvs.service({ ...id, port: 81 })).toBeUndefined()
  expect(await ipvs.servers({ ...id, port: 81 })).toBeUndefined()
  const state = {
    ...server,
    activeConnections: 0,
    inactiveConnections: 0,
    persistentConnections: 0,
    counters: NO_TRAFFIC,
  }
  expect([...(await ipvs.serversOf([id, { ...id, port: 81 }]))]).toEqual([
    ['4/tcp/10.96.0.1:80', [state]],
  ])
  expect(ipvs.runs).toHaveLength(1)
})

test('connections outlive their real server, as in the kernel', async () => {
  const ipvs = await filled()
  ipvs.setConnections(id, server, { activeConnections: 3 })
  await ipvs.run([{ do: 'deleteServer', id, server }])
  expect(await ipvs.servers(id)).toEqual([])
  await ipvs.run([{ do: 'addServer', id, server }])
  expect(await ipvs.servers(id)).toMatchObject([{ activeConnections: 3, inactiveConnections: 0 }])
})

test('counters are zeroed, and absent after their virtual server was deleted', async () => {
  const ipvs = await filled()
  ipvs.setCounters(id, { connections: 7 })
  expect((await ipvs.service(id))?.counters).toMatchObject({ connections: 7, incomingBytes: 0 })
  expect([await ipvs.zero(id), await ipvs.zero({ ...id, port: 81 })]).toEqual([true, false])
  expect((await ipvs.service(id))?.counters.connections).toBe(0)
  ipvs.setCounters(id, { connections: 7 })
  expect(await ipvs.zero()).toBe(true)
  expect((await ipvs.service(id))?.counters.connections).toBe(0)
})

test('the fake can be flushed by another process', async () => {
  const ipvs = await filled()
  ipvs.flushByForeigner()
  expect(await ipvs.services()).toEqual([])
})

test('the fake can refuse a command for a while', async () => {
  const ipvs = await filled()
  const end = ipvs.refuse('ENOMEM', (command) => command.do === 'setServer')
  const change = { do: 'setServer', id, server: { ...server, weight: 2 } } as const
  expect(await ipvs.run([change])).toMatchObject([{ index: 0, errno: 'ENOMEM' }])
  end()
  expect(await ipvs.run([change])).toEqual([])
  expect(await ipvs.servers(id)).toMatchObject([{ weight: 2 }])
})

test('setTimeouts sets the given timeouts that are not 0', async () => {
  const ipvs = new FakeIpvs()
  await ipvs.setTimeouts({ tcp: 10, udp: 0 })
  expect(await ipvs.timeouts()).toEqual({ tcp: 10, tcpFin: 120, udp: 300 })
  await expect(ipvs.setTimeouts({ tcp: 2 ** 31 })).rejects.toMatchObject({
    code: 'NP_KERNEL_NETLINK',
  })
})

test('an injected failure makes every call fail', async () => {
  const ipvs = await filled()
  ipvs.failure = new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'gone')
  for (const call of [
    () => ipvs.info(),
    () => ipvs.run([]),
    () => ipvs.services(),
    () => ipvs.servers(id),
    () => ipvs.timeouts(),
    () => ipvs.setTimeouts({}),
    () => ipvs.zero(),
    () => ipvs.flush(),
  ]) {
    await expect(call()).rejects.toBe(ipvs.failure)
  }
  ipvs.failure = undefined
  expect(await ipvs.info()).toEqual({ version: '1.2.1', connectionTableSize: 4096 })
})
