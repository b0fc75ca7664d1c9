import type { Pool } from '../../../forwarding/entry.ts'
import type { Table } from '../../../kernel/nftables/objects.ts'
import { hashName } from '../../../lib/hash.ts'
import type { Family } from '../../../lib/ip.ts'

/** One table in each IP family; everything in it is ours. */
export const TABLE = 'node-proxy'

/** A table with one empty chain; it keeps the kernel translating established connections while `TABLE` is gone. */
export const GUARD_TABLE = 'node-proxy-guard'

/** What `probe` tries, for a moment. */
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
 * Chains that stand however many Services there are. The first nine are called by the kernel. No name is a
 * keyword of nft (as `reject` is), which could not parse what it prints.
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

/** Maps and sets by which clients are remembered; 114 bits of a hash of their owner's name keep them apart. */
export interface ClientNames {
  /** Client → backend; in IPv6, and where entries share their clients, client → its address. Filled by packets. */
  clients(pool: Pool): string
  /** IPv6, where the entry has clients of its own: client → port of the backend. */
  ports(pool: Pool): string
  /** The backends that may be remembered; where entries share their clients, their addresses. */
  backends(pool: Pool): string
}

/** Of the entry or the group of entries with this name. */
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
  /** The chain that sends a client of the pool that is known to its backend, and others to `choice`. */
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

/** Whether packets fill this set or map, so that nothing in it is wanted or foreign. */
export function isFilledByPackets(set: string): boolean {
  return set === SET.connections || set.startsWith('affinity-')
}

const BACKEND_SET = /^(backends|pods)-/

/** A set of the backends, or of the Pods, that clients are remembered with. */
export function isBackendSet(set: string): boolean {
  return BACKEND_SET.test(set)
}

/** The map of the clients that a set of backends guards. */
export function clientMapOf(backendSet: string): string {
  return backendSet.replace(BACKEND_SET, 'affinity-')
}

/** IPv6: the map of the ports of the same clients; undefined: the map of clients has them, or they are not remembered. */
export function portMapOf(backendSet: string, family: Family): string | undefined {
  const hasPorts = family === 6 && backendSet.startsWith('backends-')
  return hasPorts ? `${clientMapOf(backendSet)}-ports` : undefined
}

const MAX_COMMENT = 100

/** The id of an entry, or the name of what several share, as nft prints and parses it within quotes: letters, digits and `._/:-`, at most 100. */
export function commentOf(owner: string): string {
  return owner.slice(0, MAX_COMMENT).replaceAll(/[^A-Za-z0-9._/:-]/g, '_')
}
