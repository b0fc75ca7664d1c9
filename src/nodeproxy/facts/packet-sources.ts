import type { RunCommand } from '../../explain/host/run-command.ts'
import { parseObjects, readJson, textOf } from '../../explain/host/run-command.ts'
import type { Routing } from '../../explain/walk/routing.ts'
import { arrivalInterface } from '../../explain/walk/routing.ts'
import { type Family, familyOf, type IpAddress, parseIp } from '../../lib/ip.ts'
import type { LocalBackend } from './sampled-entries.ts'

/** A sender, and the interface by which its packets arrive. */
export interface PacketSource {
  readonly src: IpAddress
  readonly inInterface: string
}

/** Addresses of documentation (RFC 5737, RFC 3849), which no host has: they stand for a client far away. */
const FAR_AWAY: Readonly<Record<Family, string>> = { 4: '203.0.113.77', 6: '2001:db8:ffff::77' }

/** Clients outside: the router of this node, and one behind it. */
export async function outsideSources(
  run: RunCommand,
  routing: Routing,
  family: Family,
): Promise<readonly PacketSource[]> {
  const routes = await readJson(run, [`-${family}`, 'route', 'show', 'default'])
  const gateways = routes.map((route) => textOf(route, 'gateway') ?? '')
  const known = [...gateways, FAR_AWAY[family]].flatMap((text) => parseIp(text) ?? [])
  const found = await Promise.all(known.map((src) => sourceOf(routing, src)))
  return found.filter((one) => one !== undefined)
}

/** Backends that are Pods of this node, at most `most` of them. */
export async function podSources(
  routing: Routing,
  backends: Iterable<LocalBackend>,
  most: number,
): Promise<readonly PacketSource[]> {
  const addresses = new Set([...backends].map(({ backend }) => backend.ip))
  const sources: PacketSource[] = []
  for (const text of addresses) {
    const src = parseIp(text)
    const source = src === undefined ? undefined : await sourceOf(routing, src)
    if (source !== undefined) sources.push(source)
    if (sources.length >= most) break
  }
  return sources
}

/** Undefined: it is an address of this node, or there is no route to it. */
async function sourceOf(routing: Routing, src: IpAddress): Promise<PacketSource | undefined> {
  const inInterface = await arrivalInterface(routing, src)
  return inInterface === undefined || inInterface === '' ? undefined : { src, inInterface }
}

/** Addresses of the interfaces, the first ones of the uplink first, without loopback. */
export async function nodeAddresses(
  run: RunCommand,
  uplink: string,
  family: Family,
): Promise<readonly IpAddress[]> {
  const links = await readJson(run, ['addr'])
  const sorted = links.toSorted((a, b) => rank(a) - rank(b))
  return sorted.flatMap((link) => {
    if (textOf(link, 'ifname') === 'lo') return []
    return parseObjects(JSON.stringify(link['addr_info'] ?? [])).flatMap((info) => {
      const ip = parseIp(textOf(info, 'local') ?? '')
      const isWanted = textOf(info, 'scope') === 'global' && ip && familyOf(ip) === family
      return isWanted ? [ip] : []
    })
  })

  function rank(link: Readonly<Record<string, unknown>>): number {
    return textOf(link, 'ifname') === uplink ? 0 : 1
  }
}
