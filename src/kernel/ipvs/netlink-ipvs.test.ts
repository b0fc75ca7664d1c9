import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { NLMSG_DONE, NLMSG_ERROR } from '../netlink/message.ts'
import { errorMessage, FakeTransport, incoming } from '../netlink/testing/fake-transport.ts'
import type { IpvsCommand, RealServer, VirtualServerSettings } from './ipvs.ts'
import { NetlinkIpvs } from './netlink-ipvs.ts'
import { SENT_BY_KERNEL } from './testing/fixtures.ts'
import { StubKernel } from './testing/stub-kernel.ts'

const RR: VirtualServerSettings = { scheduler: 'rr', flags: [], persistence: undefined }
const ip = (text: string) => parseIp(text) as IpAddress
const service = (port: number) => {
  return { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port } as const
}
const server = (port: number, weight = 1): RealServer => {
  const thresholds = { upperThreshold: 0, lowerThreshold: 0 }
  return { ip: ip('10.1.0.4'), port, weight, forwarding: 'masquerade', ...thresholds }
}
const addService = (port: number, settings = RR): IpvsCommand => {
  return { do: 'addService', id: service(port), settings }
}
const addServer = (port: number, real: RealServer): IpvsCommand => {
  return { do: 'addServer', id: service(port), server: real }
}

/** Time passes at once, but for what waits for an answer. */
const clock: Clock = {
  now: () => 0,
  after(ms, task) {
    if (ms < 1000) setImmediate(task)
    return () => undefined
  },
}

function setUp() {
  const kernel = new StubKernel()
  return { kernel, ipvs: new NetlinkIpvs(kernel.open, clock) }
}

test('commands take effect in order; refusals have the index and the remedy', async () => {
  const { ipvs } = setUp()
  const unknown = { ...RR, scheduler: 'twos' }
  expect(
    await ipvs.run([
      addService(80),
      addServer(80, server(8080)),
      { do: 'setServer', id: service(80), server: server(8080, 3) },
      addService(80),
      { do: 'setService', id: service(80), settings: unknown },
      { do: 'deleteServer', id: service(80), server: server(9) },
      { do: 'deleteService', id: service(81) },
      addServer(80, server(1, 2 ** 31)),
      addServer(80, { ...server(1), ip: ip('224.0.0.1') }),
    ]),
  ).toEqual([
    {
      index: 3,
      errno: 'EEXIST',
      message:
        'addService 4/tcp/10.96.0.1:80: EEXIST: the virtual server exists already; change or delete it',
    },
    {
      index: 4,
      errno: 'ENOENT',
      message:
        'setService 4/tcp/10.96.0.1:80: ENOENT: this kernel has no scheduler "twos"; load it: modprobe ip_vs_twos',
    },
    {
      index: 5,
      errno: 'ENOENT',
      message: 'deleteServer 4/tcp/10.96.0.1:80 → 10.1.0.4:9: ENOENT: no such real server',
    },
    {
      index: 6,
      errno: 'ESRCH',
      message:
        'deleteService 4/tcp/10.96.0.1:81: ESRCH: the virtual server does not exist; add it first',
    },
    {
      index: 7,
      errno: 'ERANGE',
      message:
        'addServer 4/tcp/10.96.0.1:80 → 10.1.0.4:1: ERANGE: a weight or a threshold is out of range',
    },
    {
      index: 8,
      errno: 'EINVAL',
      message:
        'addServer 4/tcp/10.96.0.1:80 → 224.0.0.1:1: EINVAL: the kernel does not accept this address or these settings',
    },
  ])
  const states = await ipvs.servers(service(80))
  expect(states).toEqual([expect.objectContaining({ port: 8080, weight: 3 })])
  expect(await ipvs.services()).toMatchObject([{ id: service(80), settings: RR }])
})

test('at most 500 commands go into one datagram, and indexes count over all', async () => {
  const { ipvs, kernel } = setUp()
  const commands = Array.from({ length: 1100 }, (_, i) => addService(1 + (i % 1050)))
  const refusals = await ipvs.run(commands)
  expect(refusals.map(({ index }) => index)).toEqual(Array.from({ length: 50 }, (_, i) => 1050 + i))
  expect(kernel.sockets[0]?.sent).toHaveLength(1 + 3)
  expect(await ipvs.services()).toHaveLength(1050)
  expect(await ipvs.run([])).toEqual([])
})

test('a command that took effect before its answer was lost is not reported as refused', async () => {
  const { ipvs, kernel } = setUp()
  await ipvs.run([addService(1), addService(2), addServer(2, server(5)), addServer(2, server(6))])
  await ipvs.run([addService(3)])
  kernel.overruns = 1
  const wrr = { ...RR, scheduler: 'wrr' }
  const refusals = await ipvs.run([
    addService(80),
    addServer(80, server(1)),
    addServer(80, server(2)),
    { do: 'setServer', id: service(80), server: server(2, 7) },
    { do: 'deleteService', id: service(1) },
    { do: 'deleteServer', id: service(2), server: server(5) },
    addServer(80, server(3)),
    { do: 'deleteServer', id: service(80), server: server(3) },
    addService(81),
    { do: 'setService', id: service(81), settings: wrr },
    addServer(3, server(1)),
    { do: 'deleteService', id: service(3) },
  ])
  expect(refusals).toEqual([])
  expect((await ipvs.servers(service(80)))?.map(({ port, weight }) => [port, weight])).toEqual([
    [1, 1],
    [2, 7],
  ])
  expect((await ipvs.service(service(81)))?.settings).toEqual(wrr)
})

test('a command that was refused stays refused when answers were lost', async () => {
  const { ipvs, kernel } = setUp()
  const wrr = { ...RR, scheduler: 'wrr' }
  await ipvs.run([addService(1), addService(2), addServer(2, server(5))])
  kernel.overruns = 1
  const refusals = await ipvs.run([
    addService(1, wrr),
    addServer(2, server(5, 9)),
    addService(3, { ...RR, scheduler: 'twos' }),
    addServer(3, server(1)),
    { do: 'setServer', id: service(2), server: server(77) },
  ])
  expect(refusals.map(({ index, errno }) => [index, errno])).toEqual([
    [0, 'EEXIST'],
    [1, 'EEXIST'],
    [2, 'ENOENT'],
    [3, 'ESRCH'],
    [4, 'ENOENT'],
  ])
})

test('no real servers are an empty list, no virtual server is undefined', async () => {
  const { ipvs, kernel } = setUp()
  await ipvs.run([addService(80)])
  expect(await ipvs.servers(service(80))).toEqual([])
  expect(await ipvs.servers(service(81))).toBeUndefined()
  expect(await ipvs.service(service(81))).toBeUndefined()
  expect([...(await ipvs.serversOf([service(80), service(81)]))]).toEqual([
    ['4/tcp/10.96.0.1:80', []],
  ])
  expect(kernel.sockets).toHaveLength(1)
})

test('serversOf returns the real servers of many virtual servers', async () => {
  const { ipvs, kernel } = setUp()
  const ports = Array.from({ length: 200 }, (_, i) => i + 1)
  await ipvs.run(ports.flatMap((port) => [addService(port), addServer(port, server(port))]))
  const found = await ipvs.serversOf(ports.map(service))
  expect(found.size).toBe(200)
  expect(found.get('4/tcp/10.96.0.1:77')).toMatchObject([server(77)])
  kernel.permitted = false
  await expect(ipvs.serversOf(ports.map(service))).rejects.toMatchObject({
    code: 'NP_KERNEL_NETLINK',
  })
})

test('information, timeouts, counters, flush', async () => {
  const { ipvs } = setUp()
  await ipvs.run([addService(80)])
  expect(await ipvs.info()).toEqual({ version: '1.2.1', connectionTableSize: 4096 })
  expect(await ipvs.timeouts()).toEqual({ tcp: 900, tcpFin: 120, udp: 300 })
  await ipvs.setTimeouts({ tcp: 10 })
  expect([await ipvs.zero(), await ipvs.zero(service(80)), await ipvs.zero(service(81))]).toEqual([
    true,
    true,
    false,
  ])
  await ipvs.flush()
  expect(await ipvs.services()).toEqual([])
})

test('the error about a kernel without ip_vs names the remedy, until it has it', async () => {
  const { ipvs, kernel } = setUp()
  kernel.hasModule = false
  const missing = {
    code: 'NP_KERNEL_IPVS_MISSING',
    hint: expect.stringContaining('modprobe ip_vs'),
  }
  for (const call of [
    () => ipvs.info(),
    () => ipvs.services(),
    () => ipvs.servers(service(80)),
    () => ipvs.run([addService(80)]),
    () => ipvs.timeouts(),
  ]) {
    await expect(call()).rejects.toMatchObject(missing)
  }
  kernel.hasModule = true
  expect(await ipvs.services()).toEqual([])
})

test('without CAP_NET_ADMIN reading throws and commands are refused', async () => {
  const { ipvs, kernel } = setUp()
  kernel.permitted = false
  const denied = { code: 'NP_KERNEL_NETLINK', hint: 'run with CAP_NET_ADMIN' }
  for (const call of [
    () => ipvs.info(),
    () => ipvs.services(),
    () => ipvs.servers(service(80)),
    () => ipvs.flush(),
  ]) {
    await expect(call()).rejects.toMatchObject(denied)
  }
  const message = 'addService 4/tcp/10.96.0.1:80: EPERM: run with CAP_NET_ADMIN'
  expect(await ipvs.run([addService(80)])).toEqual([{ index: 0, errno: 'EPERM', message }])
})

test('after it was closed, the next call opens a new socket', async () => {
  const { ipvs, kernel } = setUp()
  await ipvs.services()
  ipvs.close()
  ipvs.close()
  await ipvs.services()
  expect(kernel.sockets.map(({ closed }) => closed)).toEqual([true, false])
})

/** Datagrams that are anything: right headers around wrong bodies, cut off, or noise. */
const hostile = fc.array(
  fc.oneof(
    fc.uint8Array({ maxLength: 80 }),
    fc
      .tuple(
        fc.constantFrom(...Object.values(SENT_BY_KERNEL), 'ffffffff', ''),
        fc.nat(400),
        fc.constantFrom(0x10, 0x1c, NLMSG_ERROR, NLMSG_DONE),
        fc.nat(0x3ff),
      )
      .map(([body, length, type, flags]) => {
        const payload = Buffer.from(body, 'hex').subarray(0, length)
        return incoming({ type, flags, payload }, 1)
      }),
  ),
  { maxLength: 6 },
)

test('random answers of the kernel end in a NodeProxyError or a result', async () => {
  const calls: ((ipvs: NetlinkIpvs) => Promise<unknown>)[] = [
    (ipvs) => ipvs.info(),
    (ipvs) => ipvs.services(),
    (ipvs) => ipvs.servers(service(80)),
    (ipvs) => ipvs.timeouts(),
    (ipvs) => ipvs.run([addService(80), addServer(80, server(1))]),
  ]
  await fc.assert(
    fc.asyncProperty(hostile, fc.nat(calls.length - 1), async (datagrams, which) => {
      const transport = new FakeTransport()
      transport.onSend = (bytes) => {
        const seq = bytes.readUInt32LE(8)
        for (const datagram of datagrams) {
          if (datagram.length >= 12)
            Buffer.from(datagram.buffer, datagram.byteOffset).writeUInt32LE(seq, 8)
          transport.receive(Buffer.from(datagram))
        }
        transport.receive(errorMessage(bytes.readUInt32LE(8), 0))
      }
      const ipvs = new NetlinkIpvs(transport.open, { ...clock, after: impatient })
      const outcome = await calls[which]!(ipvs).catch((error: unknown) => error)
      expect(outcome instanceof Error ? outcome instanceof NodeProxyError : true).toBe(true)
      expect(transport.sent.length).toBeLessThan(20)
    }),
    { numRuns: 500 },
  )
})

/** Timers fire at once: an answer that does not come is not awaited. */
function impatient(_ms: number, task: () => void): () => void {
  const timer = setImmediate(task)
  return () => clearImmediate(timer)
}
