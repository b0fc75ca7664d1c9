import {
  type Cidr,
  cidrContains,
  familyOf,
  type IpAddress,
  ipBytes,
  parseCidr,
  parseIp,
  prefixLength,
} from '../../lib/ip.ts'
import type { AddressType, HostFacts } from '../packet/host-facts.ts'
import type { RunCommand } from './run-command.ts'
import { type JsonObject, parseObjects, readJson, textOf, unreadable } from './run-command.ts'

const TYPES = new Set<AddressType>(['local', 'broadcast', 'anycast', 'multicast', 'unicast'])

/** Settings of `net.ipvN.conf.INTERFACE` that affect packets. */
const SETTINGS = [
  [4, 'forwarding'],
  [6, 'forwarding'],
  [4, 'route_localnet'],
  [4, 'rp_filter'],
] as const

/** Reads addresses, local routes and settings once. Throws NP_EXPLAIN_READ. */
export async function readHost(
  run: RunCommand,
  listens?: HostFacts['listens'],
): Promise<HostFacts> {
  const addresses = await readJson(run, ['addr'])
  // -e ignores missing settings: those of an address family that the kernel does not have.
  const settings = await run('sysctl', ['-e', ...settingsOf(addresses)])
  if (settings.status !== 0) throw unreadable('sysctl', settings)
  const four = await readJson(run, ['-4', 'route', 'show', 'table', 'local'])
  const six = await readJson(run, ['-6', 'route', 'show', 'table', 'local'])
  return hostFacts({
    addresses,
    localRoutes: [...four, ...six],
    sysctls: settings.stdout,
    ...(listens === undefined ? {} : { listens }),
  })
}

function settingsOf(links: readonly JsonObject[]): readonly string[] {
  const names = ['all', ...links.flatMap((link) => textOf(link, 'ifname') ?? [])]
  const readable = names.filter((name) => /^[\w.-]+$/.test(name))
  return readable.flatMap((name) =>
    SETTINGS.map(([family, setting]) => `net/ipv${family}/conf/${name}/${setting}`),
  )
}

/** Listings of one network namespace. */
interface HostListings {
  /** `ip -j addr`. */
  readonly addresses: readonly JsonObject[]
  /** `ip -j -4 route show table local` and the same of IPv6. */
  readonly localRoutes: readonly JsonObject[]
  /** `sysctl`, the lines of `SETTINGS`. */
  readonly sysctls: string
  /** Which local sockets listen; absent if unknown. */
  readonly listens?: HostFacts['listens']
}

interface InterfaceAddress {
  readonly name: string
  readonly ip: IpAddress
  readonly network: Cidr
  readonly isSecondary: boolean
  readonly isGlobal: boolean
}

interface LocalRoute {
  readonly to: Cidr
  readonly dev: string | undefined
  readonly type: AddressType
}

/** The facts of a host from its listings. */
function hostFacts(listings: HostListings): HostFacts {
  const addresses = listings.addresses.flatMap(addressesOf)
  const local = listings.localRoutes.flatMap(localRouteOf)
  const sysctls = parseSysctls(listings.sysctls)
  return {
    addressType: (ip, on) => typeOf(local, ip, on),
    masqueradeAddress: (name, toward) => chooseSource(addresses, name, toward),
    listens: listings.listens ?? (() => undefined),
    forwards: (family, name) =>
      sysctls.get(`net.ipv${family}.conf.${family === 4 ? name : 'all'}.forwarding`) !== '0',
    routesLoopback: (name) =>
      ['all', name].some((one) => sysctls.get(`net.ipv4.conf.${one}.route_localnet`) === '1'),
    reversePathFilter: (name) =>
      Math.max(
        ...['all', name].map((one) => Number(sysctls.get(`net.ipv4.conf.${one}.rp_filter`) ?? 0)),
      ),
  }
}

/**
 * Chooses among the addresses of the interface, preferring one whose network contains the destination or gateway
 * (inet_select_addr).
 */
function chooseSource(
  addresses: readonly InterfaceAddress[],
  name: string,
  toward: IpAddress,
): IpAddress | undefined {
  const family = familyOf(toward)
  const fit = addresses.filter(
    (one) => familyOf(one.ip) === family && one.isGlobal && !(family === 4 && one.isSecondary),
  )
  const here = fit.filter((one) => one.name === name)
  const candidates = here.length === 0 ? fit : here
  if (family === 6) return longestPrefix(candidates, toward)
  return (candidates.find(({ network }) => cidrContains(network, toward)) ?? candidates[0])?.ip
}

/** RFC 6724, rule 8; the earlier rules do not distinguish global addresses of one interface. */
function longestPrefix(candidates: readonly InterfaceAddress[], toward: IpAddress) {
  const common = ({ ip }: InterfaceAddress) => commonBits(ipBytes(ip), ipBytes(toward))
  return candidates.toSorted((a, b) => common(b) - common(a))[0]?.ip
}

function commonBits(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, index) => byte !== other[index])
  return at < 0 ? one.length * 8 : at * 8 + Math.clz32(one[at]! ^ other[at]!) - 24
}

function typeOf(local: readonly LocalRoute[], ip: IpAddress, on: string | undefined): AddressType {
  if (ip === '0.0.0.0' || ip === '::') return 'unspecified'
  if (cidrContains('224.0.0.0/4' as Cidr, ip) || cidrContains('ff00::/8' as Cidr, ip))
    return 'multicast'
  const found = local
    .filter(({ to }) => cidrContains(to, ip))
    .toSorted((a, b) => prefixLength(b.to) - prefixLength(a.to))[0]
  if (found === undefined || (on !== undefined && found.dev !== on)) return 'unicast'
  return found.type
}

function addressesOf(link: JsonObject): readonly InterfaceAddress[] {
  const name = textOf(link, 'ifname') ?? ''
  return parseObjects(JSON.stringify(link['addr_info'] ?? [])).flatMap((info) => {
    const ip = parseIp(textOf(info, 'local') ?? '')
    const network = ip && parseCidr(`${ip}/${Number(info['prefixlen'])}`)
    if (ip === undefined || network === undefined) return []
    const isGlobal = textOf(info, 'scope') === 'global'
    return [{ name, ip, network, isGlobal, isSecondary: info['secondary'] === true }]
  })
}

function localRouteOf(route: JsonObject): readonly LocalRoute[] {
  const destination = textOf(route, 'dst') ?? ''
  const to = parseCidr(destination)
  const type = (textOf(route, 'type') ?? 'unicast') as AddressType
  if (to === undefined || !TYPES.has(type)) return []
  return [{ to, dev: textOf(route, 'dev'), type }]
}

/** `net.ipv4.conf.eth0/100.forwarding = 1`: a dot in the name of an interface is printed as `/`. */
function parseSysctls(text: string): ReadonlyMap<string, string> {
  const lines = text.split('\n').map((line) => line.split(' = ', 2))
  return new Map(lines.map(([name = '', value = '']) => [name.replaceAll('/', '.'), value.trim()]))
}
