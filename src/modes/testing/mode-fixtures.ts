import type {
  Backend,
  EntryId,
  ForwardingEntry,
  Frontend,
  ServiceKey,
} from '../../forwarding/entry.ts'
import { type Cidr, type IpAddress, parseCidr, parseIp } from '../../lib/ip.ts'
import { EVERY_ADDRESS } from '../netfilter/settings/node-port-scope.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'

/** Entries and settings for the tests of the modes: each has a default, which a test overrides. */

/** Throws TypeError if the text is not an address. */
export function ip(text: string): IpAddress {
  const parsed = parseIp(text)
  if (parsed === undefined) throw new TypeError(`not an address: ${text}`)
  return parsed
}

export function cidr(text: string): Cidr {
  const parsed = parseCidr(text)
  if (parsed === undefined) throw new TypeError(`not a network: ${text}`)
  return parsed
}

/** Settings of a dual-stack cluster with pods in 10.0.0.0/8 and fd00:10::/64. */
export function settings(overrides: Partial<NetfilterSettings> = {}): NetfilterSettings {
  return {
    masqueradeBit: 14,
    masqueradeAll: false,
    localTraffic: { by: 'source', cidrs: [cidr('10.0.0.0/8'), cidr('fd00:10::/64')] },
    nodePortScope: EVERY_ADDRESS,
    localhostNodePorts: false,
    dropMartians: false,
    dropInvalid: true,
    randomFully: true,
    hairpin: 'bpf',
    matchesSockets: true,
    families: [4, 6],
    ...overrides,
  }
}

export function backend(address: string, overrides: Partial<Backend> = {}): Backend {
  return { ip: ip(address), port: 8080, weight: 1, local: false, ...overrides }
}

/** No affinity; clients of one entry; clients that entries of one Service share. */
export const AFFINITIES = [undefined, { seconds: 60 }, { seconds: 60, isShared: true }] as const

/** A ClusterIP 172.30.0.41:80 with the cluster pool. */
export function frontend(overrides: Partial<Frontend> = {}): Frontend {
  return {
    kind: 'clusterIP',
    ip: ip('172.30.0.41'),
    port: 80,
    pool: 'cluster',
    shortCircuit: false,
    masquerade: 'offCluster',
    sourceRanges: undefined,
    ...overrides,
  }
}

/** TCP port `http` of `shop/cart` with two backends that are not on this node. */
export function entry(overrides: Partial<ForwardingEntry> = {}): ForwardingEntry {
  return {
    id: 'shop/cart:http/TCP/4' as EntryId,
    service: 'shop/cart' as ServiceKey,
    portName: 'http',
    protocol: 'TCP',
    family: 4,
    frontends: [frontend()],
    pools: { cluster: [backend('10.180.0.1'), backend('10.180.0.2')], local: [] },
    whenEmpty: { cluster: 'reject', local: 'drop' },
    draining: [],
    affinity: undefined,
    scheduler: undefined,
    ...overrides,
  }
}
