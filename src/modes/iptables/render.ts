import { clientsOwner, stickyTarget } from '../../forwarding/affinity.ts'
import type { Backend, ForwardingEntry, Frontend, Pool } from '../../forwarding/entry.ts'
import type { SetType } from '../../kernel/ipset/sets.ts'
import { hostCidr, hostPort, type IpAddress } from '../../lib/ip.ts'
import { notFromPods } from '../netfilter/local-traffic.ts'
import { setMark } from '../netfilter/mark.ts'
import { dport, from, to } from '../netfilter/rule.ts'
import type { NetfilterSettings } from '../netfilter/settings/settings.ts'
import { type DispatchKey, dispatchKey } from './dispatch-tree.ts'
import {
  externalChain,
  externalRules,
  filterRules,
  firewallChain,
  firewallRules,
  isServed,
  natRules,
} from './frontend.ts'
import { affinitySet, serviceChain } from './names.ts'

/**
 * One destination in a dispatch tree, with its rules in both tables. Its id
 * contains the entry, so that an address can pass from one entry to another in any order of updates.
 */
export interface Dispatch {
  readonly id: string
  readonly key: DispatchKey
  readonly nodePort: boolean
  readonly nat: readonly string[]
  readonly filter: readonly string[]
}

/** Everything that one entry has in the kernel: its own chains and sets, and its destinations in the trees. */
export interface Rendered {
  /** nat chains by name. */
  readonly chains: ReadonlyMap<string, readonly string[]>
  /** The types of the sets, by name. */
  readonly sets: ReadonlyMap<string, SetType>
  readonly dispatches: readonly Dispatch[]
}

/** Pure: the same entry and settings give the same rules, in any history. */
export function render(entry: ForwardingEntry, settings: NetfilterSettings): Rendered {
  return {
    chains: new Map([...poolChains(entry, settings), ...externalChains(entry, settings)]),
    sets: entry.affinity ? affinitySets(entry) : new Map(),
    dispatches: [
      ...entry.frontends.map((frontend) => dispatch(entry, frontend, settings)),
      ...healthCheck(entry),
    ],
  }
}

function poolChains(
  entry: ForwardingEntry,
  settings: NetfilterSettings,
): readonly [string, readonly string[]][] {
  const served = entry.frontends.filter((frontend) => isServed(entry, frontend))
  const usesCluster = served.some(
    (frontend) => frontend.pool === 'cluster' || frontend.shortCircuit,
  )
  const usesLocal = served.some(({ pool }) => pool === 'local') && entry.pools.local.length > 0
  return [
    ...(usesCluster ? [chain('C', 'cluster')] : []),
    ...(usesLocal ? [chain('L', 'local')] : []),
  ]

  function chain(kind: 'C' | 'L', pool: 'cluster' | 'local'): [string, readonly string[]] {
    return [serviceChain(kind, entry.id), poolRules(entry, pool, settings)]
  }
}

/**
 * The chain of one pool: masquerade for ClusterIP clients outside the cluster,
 * then one DNAT rule per backend, each taken with equal probability.
 */
function poolRules(
  entry: ForwardingEntry,
  pool: Pool,
  settings: NetfilterSettings,
): readonly string[] {
  const backends = entry.pools[pool]
  const protocol = `-p ${entry.protocol.toLowerCase()} `
  const chance = (index: number) => randomChance(backends.length - index)
  const dnat = (backend: Backend) =>
    `-j DNAT --to-destination ${hostPort(backend.ip, backend.port)}`
  const sticky = entry.affinity ? stickyRules(entry, backends, { chance, dnat }) : []
  return [
    ...clusterIpMarks(entry, pool, settings),
    ...(settings.hairpin === 'rules' ? hairpinMarks(backends, settings) : []),
    ...sticky,
    ...(entry.affinity
      ? backends.slice(-1).map((backend) => protocol + dnat(backend))
      : backends.map((backend, index) => protocol + chance(index) + dnat(backend))),
  ]
}

/** The kernel keeps 31 bits of the probability; this prints the value that it keeps. */
function randomChance(remaining: number): string {
  if (remaining <= 1) return ''
  const probability = (Math.round(2 ** 31 / remaining) / 2 ** 31).toFixed(11)
  return `-m statistic --mode random --probability ${probability} `
}

function clusterIpMarks(
  entry: ForwardingEntry,
  pool: Pool,
  settings: NetfilterSettings,
): readonly string[] {
  const match = settings.masqueradeAll
    ? { source: '', interface: '' }
    : notFromPods(settings, entry.family)
  if (match === undefined) return []
  return entry.frontends
    .filter((frontend) => frontend.masquerade === 'offCluster' && frontend.pool === pool)
    .map(
      (frontend) =>
        match.source + to(frontend.ip as IpAddress) + match.interface + setMark(settings),
    )
}

/** Where the kernel has no xt_bpf: a backend that reaches itself, one rule each. */
function hairpinMarks(
  backends: readonly Backend[],
  settings: NetfilterSettings,
): readonly string[] {
  return backends.map(({ ip }) => from(hostCidr(ip)) + setMark(settings))
}

/** Chains of external traffic (`E`, `F`), where it needs more than one decision. */
function externalChains(
  entry: ForwardingEntry,
  settings: NetfilterSettings,
): readonly [string, readonly string[]][] {
  const served = entry.frontends.filter((frontend) => isServed(entry, frontend))
  const guarded = served.filter((frontend) => frontend.sourceRanges !== undefined)
  const local = served.find((frontend) => frontend.shortCircuit)
  const external = local ?? guarded[0]
  return [
    ...(external
      ? [[externalChain(entry), externalRules(entry, external, settings)] as const]
      : []),
    ...guarded.map(
      (frontend) => [firewallChain(entry, frontend), firewallRules(entry, frontend)] as const,
    ),
  ].map(([name, rules]) => [name, rules])
}

function affinitySets(entry: ForwardingEntry): ReadonlyMap<string, SetType> {
  const type = setType(entry)
  const backends = [...entry.pools.cluster, ...entry.pools.local]
  return new Map(backends.map((backend) => [setOf(entry, backend), type]))
}

function dispatch(
  entry: ForwardingEntry,
  frontend: Frontend,
  settings: NetfilterSettings,
): Dispatch {
  const { ip, port } = frontend
  const address = ip === 'node' ? `node:${port}` : hostPort(ip, port)
  return {
    id: `${address}/${entry.protocol} ${entry.id}`,
    key: dispatchKey(ip, entry.protocol, port),
    nodePort: ip === 'node',
    nat: natRules(entry, frontend, settings),
    filter: filterRules(entry, frontend, settings),
  }
}

/** Lets load balancers reach the health check server, whatever the INPUT policy. */
function healthCheck({ id, healthCheckPort: port }: ForwardingEntry): readonly Dispatch[] {
  if (port === undefined) return []
  return [
    {
      id: `node:${port}/health ${id}`,
      key: dispatchKey('node', 'TCP', port),
      nodePort: true,
      nat: [],
      filter: [`${dport('TCP', port)}-j ACCEPT`],
    },
  ]
}

/** The maximum number of members of one set, regardless of its number of buckets. */
export const CLIENTS_PER_BACKEND = 262_144

/**
 * The hash buckets of all sets of a Service together. The kernel cannot enlarge a set from the packet path, so the
 * sets are created with buckets for 65,536 clients: four clients per bucket, which can hold twelve. This takes 128 to
 * 256 KiB per Service. On average six of 65,536 clients find their bucket full; of 40,000 clients none do.
 * (The `recent` match keeps 100 clients per list and forgets the rest silently.)
 */
const BUCKETS_PER_SERVICE = 16_384
const FEWEST_BUCKETS = 64

/** The set of clients that stick to `backend`, or to its Pod where entries share their clients. */
export function setOf(entry: ForwardingEntry, backend: Backend): string {
  return affinitySet(entry.family, `${clientsOwner(entry)}|${stickyTarget(entry, backend)}`)
}

/** The type with which each set of a Service is created. Timeouts are given with each added client. */
export function setType(entry: ForwardingEntry): SetType {
  const backends = Math.max(entry.pools.cluster.length, entry.pools.local.length, 1)
  const buckets = Math.max(BUCKETS_PER_SERVICE / backends, FEWEST_BUCKETS)
  return {
    type: 'hash:ip',
    family: entry.family,
    maxElements: CLIENTS_PER_BACKEND,
    hashSize: 2 ** Math.ceil(Math.log2(buckets)),
    timeout: 0,
  }
}

/**
 * Rules that send a known client to its backend and renew its timeout, and
 * give a new client a backend that remembers it. They come in this order:
 * look-ups first, so that a choice is made only for clients that are in no set.
 */
export function stickyRules(
  entry: ForwardingEntry,
  backends: readonly Backend[],
  rules: { chance(index: number): string; dnat(backend: Backend): string },
): readonly string[] {
  const remember = (set: string) =>
    `-j SET --add-set ${set} src --exist --timeout ${entry.affinity?.seconds ?? 0}`
  const protocol = `-p ${entry.protocol.toLowerCase()} `
  const known = (set: string) => `-m set --match-set ${set} src `
  const send = (backend: Backend) =>
    `${protocol}${known(setOf(entry, backend))}${rules.dnat(backend)}`
  return [
    ...backends.flatMap((backend) => {
      const set = setOf(entry, backend)
      return [`${known(set)}${remember(set)}`, send(backend)]
    }),
    ...backends.flatMap((backend, index) => [
      `${rules.chance(index)}${remember(setOf(entry, backend))}`,
      send(backend),
    ]),
  ]
}
