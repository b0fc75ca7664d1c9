import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type {
  Ipvs,
  IpvsCommand,
  RealServer,
  VirtualServerId,
} from '../../../src/kernel/ipvs/ipvs.ts'
import { NetlinkIpvs } from '../../../src/kernel/ipvs/netlink-ipvs.ts'
import { CONFORMANCE, runCase } from '../../../src/kernel/ipvs/testing/conformance.ts'
import { requestTransport } from '../../../src/kernel/netlink/request-transport.ts'
import { NETLINK_GENERIC } from '../../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type IpAddress, parseIp } from '../../../src/lib/ip.ts'

const ip = (text: string) => parseIp(text) as IpAddress
const open = (receiveBytes?: number) =>
  new NetlinkIpvs(requestTransport(NETLINK_GENERIC, receiveBytes), systemClock)
const ipvs = open()
const ipvsadm = (...args: string[]) => execFileSync('ipvsadm', args, { stdio: 'pipe' }).toString()
const saved = () => ipvsadm('-Sn').trim().split('\n').sort()

const TCP = { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port: 80 } as const
const UDP = { family: 4, protocol: 'UDP', ip: ip('10.96.0.1'), port: 53 } as const
const UDP6 = { family: 6, protocol: 'UDP', ip: ip('fd00::1'), port: 53 } as const
const SCTP = { family: 4, protocol: 'SCTP', ip: ip('10.96.0.9'), port: 9 } as const
const MARK4 = { family: 4, mark: 1234 } as const
const MARK6 = { family: 6, mark: 1234 } as const
const RR = { scheduler: 'rr', flags: [], persistence: undefined } as const
const real = (address: string, port: number, more: Partial<RealServer> = {}): RealServer => {
  const thresholds = { upperThreshold: 0, lowerThreshold: 0 }
  return { ip: ip(address), port, weight: 1, forwarding: 'masquerade', ...thresholds, ...more }
}

/** One of each, as commands, and as the arguments and the output of `ipvsadm`. */
const COMMANDS: readonly IpvsCommand[] = [
  {
    do: 'addService',
    id: TCP,
    settings: { scheduler: 'wrr', flags: [], persistence: { seconds: 300, prefix: 24 } },
  },
  {
    do: 'addServer',
    id: TCP,
    server: real('10.1.0.4', 8080, { weight: 3, upperThreshold: 100, lowerThreshold: 50 }),
  },
  { do: 'addServer', id: TCP, server: real('fd00::5', 80, { forwarding: 'tunnel' }) },
  { do: 'addServer', id: TCP, server: real('10.1.0.6', 80, { weight: 0, forwarding: 'route' }) },
  {
    do: 'addService',
    id: UDP6,
    settings: {
      scheduler: 'sh',
      flags: ['onePacket', 'fallback', 'sourcePort'],
      persistence: { seconds: 60, prefix: 64 },
    },
  },
  { do: 'addServer', id: UDP6, server: real('fd00::4', 5353) },
  { do: 'addService', id: SCTP, settings: { ...RR, scheduler: 'lc' } },
  { do: 'addService', id: MARK4, settings: RR },
  { do: 'addServer', id: MARK4, server: real('10.1.0.4', 0, { forwarding: 'route' }) },
  { do: 'addService', id: MARK6, settings: { ...RR, scheduler: 'mh', flags: ['sourcePort'] } },
]
const IPVSADM_INPUT = `
-A -t 10.96.0.1:80 -s wrr -p 300 -M 255.255.255.0
-a -t 10.96.0.1:80 -r 10.1.0.4:8080 -m -w 3 -x 100 -y 50
-a -t 10.96.0.1:80 -r [fd00::5]:80 -i -w 1
-a -t 10.96.0.1:80 -r 10.1.0.6:80 -g -w 0
-A -u [fd00::1]:53 -s sh -b sh-port,sh-fallback -o -p 60 -M 64
-a -u [fd00::1]:53 -r [fd00::4]:5353 -m -w 1
-A --sctp-service 10.96.0.9:9 -s lc
-A -f 1234 -s rr
-a -f 1234 -r 10.1.0.4:0 -g -w 1
-A -f 1234 -6 -s mh -b mh-port`

async function everything(kernel: Ipvs): Promise<unknown> {
  const services = [...(await kernel.services())]
  const listed = await Promise.all(
    services.map(async ({ id, settings }) => ({ id, settings, servers: await kernel.servers(id) })),
  )
  return listed.map((each) => JSON.stringify(each)).sort()
}

async function bothWays() {
  await ipvs.flush()
  const refused = await ipvs.run(COMMANDS)
  const ours = { saved: saved(), read: await everything(ipvs) }
  ipvsadm('-C')
  execFileSync('ipvsadm', ['-R'], { input: IPVSADM_INPUT })
  const theirs = { saved: saved(), read: await everything(ipvs) }
  return { refused, ours, theirs }
}

async function schedulers() {
  const names = 'rr wrr lc wlc fo ovf lblc lblcr dh sh mh sed nq none'.split(' ')
  const ids = names.map((_, i) => ({ ...TCP, port: i + 1 }))
  await ipvs.flush()
  await ipvs.run(
    ids.map((id, i) => ({ do: 'addService', id, settings: { ...RR, scheduler: names[i]! } })),
  )
  const read = await Promise.all(ids.map((id) => ipvs.service(id)))
  const said = saved()
  const seen = names.filter((name, i) => {
    return (
      read[i]?.settings.scheduler === name && said.includes(`-A -t 10.96.0.1:${i + 1} -s ${name}`)
    )
  })
  return { names, seen }
}

/** The kernel sums up what it counted every two seconds. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('it never was so')
    await setTimeout(50)
  }
}

/** Connections to a server of this namespace and datagrams to a port without a listener. */
async function traffic() {
  const listener = createServer().listen(8080, '10.1.0.4')
  await once(listener, 'listening')
  await ipvs.flush()
  const sticky = { ...RR, persistence: { seconds: 300, prefix: 32 } }
  await ipvs.run([
    { do: 'addService', id: TCP, settings: sticky },
    { do: 'addServer', id: TCP, server: real('10.1.0.4', 8080) },
    { do: 'addService', id: UDP, settings: RR },
    { do: 'addServer', id: UDP, server: real('10.1.0.5', 53) },
  ])
  const clients = [1, 2, 3].map(() => connect(80, '10.96.0.1'))
  await Promise.all(clients.map((client) => once(client, 'connect')))
  const datagrams = createSocket('udp4')
  await new Promise((sent) => datagrams.send('hello', 53, '10.96.0.1', sent))
  await until(async () => (await counters(UDP)) === 1 && (await counters(TCP)) === clients.length)
  const result = { ...(await compared()), zeroed: await zeroed(), revived: await revived() }
  clients.forEach((client) => client.destroy())
  datagrams.close()
  listener.close()
  return result
}

async function counters(id: VirtualServerId): Promise<number | undefined> {
  return (await ipvs.service(id))?.counters.connections
}

/** What we read and what ipvsadm says, at a time when nothing changed between the two. */
async function compared() {
  const read = () => Promise.all([TCP, UDP].map((id) => ipvs.service(id)))
  const say = () => [
    ...ipvsadm('-Ln', '--stats', '--exact').split('\n'),
    ...ipvsadm('-Ln', '--persistent-conn').split('\n'),
  ]
  let services = await read()
  let said = say()
  await until(async () => {
    const before = JSON.stringify(services)
    services = await read()
    said = say()
    return JSON.stringify(services) === before
  })
  const servers = [...(await ipvs.serversOf([TCP, UDP])).values()].flat()
  return { services, servers, said: said.map((line) => line.trim().replace(/ +/g, ' ')) }
}

/** A connection is remembered by the kernel when its real server is gone, or its virtual server. */
async function revived() {
  const server = real('10.1.0.5', 53)
  await ipvs.run([{ do: 'deleteServer', id: UDP, server }])
  const without = await ipvs.servers(UDP)
  await ipvs.run([{ do: 'addServer', id: UDP, server }])
  const again = (await ipvs.servers(UDP))?.map(({ inactiveConnections }) => inactiveConnections)
  await ipvs.run([
    { do: 'deleteService', id: UDP },
    { do: 'addService', id: UDP, settings: RR },
    { do: 'addServer', id: UDP, server },
  ])
  const anew = (await ipvs.servers(UDP))?.map(({ inactiveConnections }) => inactiveConnections)
  return { without, again, anew }
}

async function zeroed() {
  const known = await ipvs.zero(TCP)
  const unknown = await ipvs.zero({ ...TCP, port: 81 })
  const before = [await counters(TCP), await counters(UDP)]
  await ipvs.zero()
  return { known, unknown, before, after: [await counters(TCP), await counters(UDP)] }
}

async function timeouts() {
  const before = await ipvs.timeouts()
  await ipvs.setTimeouts({ tcp: 100, udp: 30 })
  await ipvs.setTimeouts({ tcpFin: 0 })
  const said = ipvsadm('-L', '--timeout').trim()
  const refused = await ipvs.setTimeouts({ udp: 2 ** 31 }).catch((error: unknown) => error)
  return { before, after: await ipvs.timeouts(), said, refused: String(refused) }
}

/** A receive buffer that a few dozen refusals fill. */
async function overrun() {
  const small = open(16 * 1024)
  await small.flush()
  const commands = Array.from({ length: 700 }, (_, index): IpvsCommand => {
    return { do: 'addService', id: { ...TCP, port: index + 1 }, settings: RR }
  })
  const first = await small.run(commands)
  const wrr = { ...RR, scheduler: 'wrr' }
  const second = await small.run(
    commands.map((command) => ({ ...command, settings: wrr }) as IpvsCommand),
  )
  const services = await small.services()
  small.close()
  return {
    first: first.length,
    second: second.length,
    inOrder: second.every(({ index, errno }, at) => index === at && errno === 'EEXIST'),
    services: services.filter(({ settings }) => settings.scheduler === 'rr').length,
  }
}

const results = []
for (const conformance of CONFORMANCE) results.push(await runCase(ipvs, conformance))
const steps = {
  info: await ipvs.info(),
  results,
  bothWays: await bothWays(),
  schedulers: await schedulers(),
  traffic: await traffic(),
  timeouts: await timeouts(),
  overrun: await overrun(),
}
ipvs.close()
process.stdout.write(JSON.stringify(steps))
