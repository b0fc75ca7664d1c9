import type { Pool } from '../../../forwarding/entry.ts'
import type { Table } from '../../../kernel/nftables/objects.ts'
import { hashName } from '../../../lib/hash.ts'
import type { Family } from '../../../lib/ip.ts'

/** One table in each IP family; everything in it is ours. */
export const TABLE = 'node-proxy'

/** A table whose only rule has no effect; it keeps the kernel translating established connections while `TABLE` is gone. */
export const GUARD_TABLE = 'node-proxy-guard'

/** The table in which `probe` tries rules; it exists for a moment. */
export const PROBE_TABLE = 'node-proxy-probe'

/** Maps and sets that all Services share. `inside…`: for packets from pods and the node itself. */
export const SET = {
  services: 'services',
  insideServices: 'inside-services',
  nodePorts: 'node-ports',
  insideNodePorts: 'inside-node-ports',
  endpoints: 'endpoints',
  insideEndpoints: 'inside-endpoints',
  nodePortEndpoints: 'node-port-endpoints',
  insideNodePortEndpoints: 'inside-node-port-endpoints',
  noEndpoints: 'no-endpoints',
  noEndpointNodePorts: 'no-endpoint-node-ports',
  limitedServices: 'limited-services',
  sourceRanges: 'source-ranges',
  remembered: 'remembered',
  rememberedNodePorts: 'remembered-node-ports',
  clusterAddresses: 'cluster-ips',
  connections: 'connections',
  trafficIn: 'traffic-in',
  trafficOut: 'traffic-out',
  nodePortTrafficIn: 'node-port-traffic-in',
  nodePortTrafficOut: 'node-port-traffic-out',
  sameByte: 'same-byte',
  nodePortAddresses: 'node-port-addresses',
  serviceRanges: 'service-ranges',
} as const

/**
 * Chains that exist regardless of the number of Services. The kernel calls the first nine, `countPrerouting` and
 * `countOutput`. No name is a keyword of nft (such as `reject`), because nft could not parse its own output then.
 */
export const CHAIN = {
  prerouting: 'prerouting',
  preroutingAgain: 'prerouting-again',
  output: 'output',
  outputAgain: 'output-again',
  input: 'input',
  postrouting: 'postrouting',
  filterInput: 'filter-input',
  filterForward: 'filter-forward',
  filterOutput: 'filter-output',
  dispatch: 'dispatch',
  dispatchNodePorts: 'dispatch-node-ports',
  unserved: 'unserved',
  rejected: 'rejected',
  translated: 'translated',
  countPrerouting: 'count-prerouting',
  countOutput: 'count-output',
  count: 'count',
} as const

/** Sets that count, by the direction of the packets: from clients, or to them. */
export const TRAFFIC_SETS = {
  in: [SET.trafficIn, SET.nodePortTrafficIn],
  out: [SET.trafficOut, SET.nodePortTrafficOut],
} as const

export function tableOf(family: Family): Table {
  return { family, name: TABLE }
}

/** Maps and sets that remember clients. Their names contain 114 bits of a hash of the owner's name. */
export interface ClientNames {
  /** Client → backend; in IPv6, and where entries share their clients, client → its address. Filled by packets. */
  clients(pool: Pool): string
  /** IPv6, where the entry has clients of its own: client → port of the backend. */
  ports(pool: Pool): string
  /** The backends that may be remembered; where entries share their clients, their addresses. */
  backends(pool: Pool): string
}

/** The names for the entry, or the group of entries, with this name. */
export function clientNames(owner: string, isShared = false): ClientNames {
  const of = affixOf(owner)
  return {
    clients: (pool) => `affinity-${of(pool)}`,
    ports: (pool) => `affinity-${of(pool)}-ports`,
    backends: (pool) => `${isShared ? 'pods' : 'backends'}-${of(pool)}`,
  }
}

/** Chains of one entry with affinity. */
export interface StickyNames {
  /** The chain that remembers. */
  readonly remember: string
  /** The chain that sends a known client of the pool to its backend, and others to `choice`. */
  sticky(pool: Pool, choice: string): string
}

export function stickyNames(id: string): StickyNames {
  const of = affixOf(id)
  return {
    remember: `remember-${of('cluster')}`,
    sticky: (pool, choice) => `sticky-${of(pool)}-${choice}`,
  }
}

function affixOf(owner: string): (pool: Pool) => string {
  const hash = hashName(owner, 19)
  return (pool) => (pool === 'cluster' ? hash : `${hash}-local`)
}

/** Whether packets fill this set or map: its elements are neither wanted nor foreign. */
export function isFilledByPackets(set: string): boolean {
  return set === SET.connections || set.startsWith('affinity-')
}

const BACKEND_SET = /^(backends|pods)-/

/** A set of the backends, or of the Pods, that clients are remembered with. */
export function isBackendSet(set: string): boolean {
  return BACKEND_SET.test(set)
}

/** The map of clients that belongs to a set of backends. */
export function clientMapOf(backendSet: string): string {
  return backendSet.replace(BACKEND_SET, 'affinity-')
}

/**
 * IPv6: the map of the ports of the same clients; undefined if the map of clients contains the ports, or no ports are
 * remembered.
 */
export function portMapOf(backendSet: string, family: Family): string | undefined {
  const hasPorts = family === 6 && backendSet.startsWith('backends-')
  return hasPorts ? `${clientMapOf(backendSet)}-ports` : undefined
}
