import { execFileSync } from 'node:child_process'
import {
  type IpvsCommand,
  type VirtualServerId,
  virtualServerKey,
} from '../../../src/kernel/ipvs/ipvs.ts'
import { NetlinkIpvs } from '../../../src/kernel/ipvs/netlink-ipvs.ts'
import { requestTransport } from '../../../src/kernel/netlink/request-transport.ts'
import { NETLINK_GENERIC } from '../../../src/kernel/netlink/transport.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { type IpAddress, parseIp } from '../../../src/lib/ip.ts'

const SERVICES = 10_000
const SERVERS = 10
const settings = { scheduler: 'rr', flags: [], persistence: undefined } as const
const ip = (text: string) => parseIp(text) as IpAddress
const ids = Array.from({ length: SERVICES }, (_, i) => {
  const family = 4 as const
  return { family, protocol: 'TCP' as const, ip: ip(`10.97.${i >> 8}.${i & 255}`), port: 80 }
})
/** No two real servers are the same, so that nothing can be counted twice. */
const commands = ids.flatMap((id, i): IpvsCommand[] => [
  { do: 'addService', id, settings },
  ...Array.from({ length: SERVERS }, (_, j): IpvsCommand => {
    const place = { ip: ip(`10.2.${i & 255}.${j + 1}`), port: 8000 + (i >> 8) }
    const rest = {
      weight: 1,
      forwarding: 'masquerade',
      upperThreshold: 0,
      lowerThreshold: 0,
    } as const
    return { do: 'addServer', id, server: { ...place, ...rest } }
  }),
])

const ms: Record<string, number> = {}
async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await work()
  ms[what] = Math.round(performance.now() - start)
  return result
}

async function different(of: readonly VirtualServerId[]): Promise<number> {
  const found = await timed('real servers', () => ipvs.serversOf(of))
  return new Set([...found.values()].flat().map((server) => `${server.ip} ${server.port}`)).size
}

/** Real servers in the order in which the kernel finds the deleted ones at once. */
async function lastListedFirst(): Promise<readonly IpvsCommand[]> {
  const listed = (await ipvs.services()).map(({ id }) => virtualServerKey(id))
  const places = new Map(listed.map((key, place) => [key, place]))
  const placeOf = ({ id }: IpvsCommand) => places.get(virtualServerKey(id)) ?? -1
  const servers = commands.filter(({ do: what }) => what === 'addServer')
  return servers.toSorted((a, b) => placeOf(b) - placeOf(a))
}

const ipvs = new NetlinkIpvs(requestTransport(NETLINK_GENERIC), systemClock)
const refused = await timed('added', () => ipvs.run(commands))
const services = await timed('services', () => ipvs.services())
const servers = await different(ids)
const sample = ids.filter((_, i) => i % 2000 === 7)
const said = sample.map((id) => {
  const lines = execFileSync('ipvsadm', ['-Ln', '-t', `${id.ip}:80`])
    .toString()
    .split('\n')
  return lines.filter((line) => line.includes('Masq')).length
})
await timed('flush', () => ipvs.flush())
const left = await ipvs.services()
const refusedAgain = await timed('added again', async () => [
  ...(await ipvs.run(commands.filter(({ do: what }) => what === 'addService'))),
  ...(await ipvs.run(await lastListedFirst())),
])
const serversAgain = await different(ids.filter((_, i) => i % 100 === 7))
ipvs.close()
process.stdout.write(
  JSON.stringify({
    refused,
    services: services.length,
    servers,
    said,
    left,
    refusedAgain,
    serversAgain,
    ms,
  }),
)
