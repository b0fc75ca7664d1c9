import { type Cidr, type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import { TO_NODE } from './local-traffic.ts'
import { to } from './rule.ts'
import { isInScope } from './settings/node-port-scope.ts'
import type { NetfilterSettings } from './settings/settings.ts'

const LOOPBACK = '127.0.0.1' as IpAddress

/**
 * The end of a dispatch chain: packets to addresses of this node in `nodePortScope` go on to `chain`. The kernel
 * decides which addresses are local, so an address that is added or removed needs no new rule. Loopback serves only
 * when configured, and IPv6 loopback never (the kernel has no route_localnet for ::1).
 */
export function toNodePorts(
  settings: NetfilterSettings,
  family: Family,
  chain: string,
): readonly string[] {
  const loopback = family === 4 ? '-d 127.0.0.0/8 ' : '-d ::1/128 '
  const serveLoopback = family === 4 && settings.localhostNodePorts
  return [
    ...(serveLoopback ? [] : [`${loopback}-j RETURN`]),
    ...servingAddresses(settings, family).map((match) => `${match}${TO_NODE}-j ${chain}`),
  ]
}

/** Whether 127.0.0.1 serves node ports: the configuration allows it, and it is in scope. */
export function servesLoopback({ localhostNodePorts, nodePortScope }: NetfilterSettings): boolean {
  return localhostNodePorts && isInScope(nodePortScope, LOOPBACK)
}

function servingAddresses(
  { nodePortScope: scope }: NetfilterSettings,
  family: Family,
): readonly string[] {
  switch (scope.kind) {
    case 'all':
      return ['']
    case 'networks':
      return scope.networks.filter((cidr) => familyOf(cidr) === family).map(inNetwork)
    case 'addresses':
      return scope.addresses.filter((ip) => familyOf(ip) === family).map(to)
  }
}

function inNetwork(cidr: Cidr): string {
  return cidr.endsWith('/0') ? '' : `-d ${cidr} `
}
