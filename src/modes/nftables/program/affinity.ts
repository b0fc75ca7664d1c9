import { clientsOwner } from '../../../forwarding/affinity.ts'
import type { Backend, ForwardingEntry, Pool } from '../../../forwarding/entry.ts'
import type { FieldType, Rule } from '../../../kernel/nftables/objects.ts'
import { address, backendData, port } from '../../../kernel/nftables/rules/encode.ts'
import {
  DESTINATION_PORT,
  destinationAddress,
  sourceAddress,
} from '../../../kernel/nftables/rules/fields.ts'
import { isProtocol } from '../../../kernel/nftables/rules/matches.ts'
import {
  commentOf,
  goto,
  isIn,
  remove,
  type Statement,
  translate,
  translateByTwo,
  translateToPort,
  update,
} from '../../../kernel/nftables/rules/statements.ts'
import type { Family } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { type ClientNames, clientNames, stickyNames } from '../keys/names.ts'
import { markRules } from './choice-chain.ts'
import type { ChainContent, SetContent } from './content.ts'
import type { Route } from './routes.ts'

/**
 * The maximum number of clients that one pool remembers. The kernel allocates buckets in advance by the lowest 16 bits
 * of this number (`nelem_hint` of linux/rhashtable-types.h). These are 0, so a map starts with 64 buckets and grows
 * with its clients.
 */
const MAX_CLIENTS = 2 ** 20

/** How the clients of an entry are remembered. */
interface Memory {
  /** The name of the entry, or of the entries that share its clients. */
  readonly owner: string
  readonly names: ClientNames
  /** If clients are shared, only the addresses of Pods are remembered; this is the port of all backends. */
  readonly sharedPort: number | undefined
}

/**
 * Clients are shared only if all backends have one port: a rule can add a port to an address, but not look one up by
 * it.
 */
function memoryOf(entry: ForwardingEntry): Memory {
  const ports = new Set([...entry.pools.cluster, ...entry.pools.local].map((one) => one.port))
  const isShared = entry.affinity?.isShared === true && ports.size === 1
  const owner = isShared ? clientsOwner(entry) : entry.id
  const [sharedPort] = isShared ? ports : []
  return { owner, names: clientNames(owner, isShared), sharedPort }
}

/**
 * The maps, sets and chains of an entry with affinity. Each pool that packets reach has its own map, because a client
 * of a local pool must not be sent to another node. A client is remembered only with a backend that the pool has at
 * the moment.
 */
export function affinityObjects(
  entry: ForwardingEntry,
  routes: readonly Route[],
  settings: NetfilterSettings,
): readonly (SetContent | ChainContent)[] {
  const memory = memoryOf(entry)
  const names = stickyNames(entry.id)
  const pools = [...new Set(routes.map(({ pool }) => pool))].toSorted()
  const sticky = new Map(routes.map((route) => [names.sticky(route.pool, route.chain), route]))
  return [
    ...pools.flatMap((pool) => setsOf(entry, pool, memory)),
    {
      kind: 'chain',
      name: names.remember,
      spec: {},
      rules: pools.map((pool) => rememberRule(entry, pool, memory)),
    },
    ...[...sticky].map(([name, route]): ChainContent => {
      const marks = markRules(route.mark, settings, entry.family)
      const rules = [...marks, ...knownClients(entry, route.pool, memory)]
      return {
        kind: 'chain',
        name,
        spec: {},
        rules: [...rules, { expressions: goto(route.chain) }],
      }
    }),
  ]
}

function setsOf(entry: ForwardingEntry, pool: Pool, memory: Memory): readonly SetContent[] {
  const { family } = entry
  const { names, owner, sharedPort } = memory
  const comment = commentOf(owner)
  const ip: FieldType = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const map = (name: string, data: readonly FieldType[]): SetContent => {
    const flags = { isDynamic: true, hasTimeouts: true } as const
    const spec = { key: [ip], data, ...flags, size: MAX_CLIENTS, comment }
    return { kind: 'set', name, spec, elements: [] }
  }
  const backends = (key: readonly FieldType[], dataOf: (one: Backend) => Buffer): SetContent => {
    const elements = distinct(entry.pools[pool]).map((one) => ({ key: dataOf(one) }))
    return { kind: 'set', name: names.backends(pool), spec: { key, comment }, elements }
  }
  if (sharedPort !== undefined) {
    return [map(names.clients(pool), [ip]), backends([ip], (one) => address(one.ip))]
  }
  const maps =
    family === 4
      ? [map(names.clients(pool), [ip, 'inet_service'])]
      : [map(names.clients(pool), [ip]), map(names.ports(pool), ['inet_service'])]
  return [...maps, backends([ip, 'inet_service'], backendData)]
}

/** The rule for postrouting and, of backends on this node, input: the destination is a backend there. */
function rememberRule(entry: ForwardingEntry, pool: Pool, memory: Memory): Rule {
  const timeout = (entry.affinity?.seconds ?? 0) * 1_000
  const backend = destinationAddress(entry.family)
  const target = memory.sharedPort === undefined ? [backend, DESTINATION_PORT] : [backend]
  const updates = clientMaps(entry, pool, memory).map(({ map, element }) =>
    update(map, { ...element, timeout }),
  )
  return {
    expressions: [...isIn(memory.names.backends(pool), ...target), ...updates.flat()],
    comment: commentOf(entry.id),
  }
}

/**
 * If a client has an address but no port, or the reverse, it is removed from both maps: what is remembered next must
 * not be a mixture of two backends.
 */
function knownClients(
  { family, id, protocol }: ForwardingEntry,
  pool: Pool,
  memory: Memory,
): readonly Rule[] {
  const maps = clientMaps({ family }, pool, memory)
  const send: Rule = {
    expressions: [...isProtocol(protocol), ...sendKnown(family, pool, memory)],
    comment: commentOf(id),
  }
  if (maps.length === 1) return [send]
  const forget = maps.map(({ map, element }) => remove(map, element))
  return [send, { expressions: forget.flat() }]
}

function sendKnown(family: Family, pool: Pool, { names, sharedPort }: Memory): Statement {
  const client = sourceAddress(family)
  const [addresses, ports] = [names.clients(pool), names.ports(pool)]
  if (sharedPort !== undefined) {
    return translateToPort(family, { addresses, port: port(sharedPort).subarray(0, 2) }, client)
  }
  if (family === 4) return translate(family, addresses, client)
  return translateByTwo(family, { addresses, ports }, client)
}

/**
 * What a packet adds for its client. nft 1.0.6 cannot parse rules that add an IPv6 address with a port as data, so
 * IPv6 has a separate map of ports.
 */
function clientMaps(
  { family }: Pick<ForwardingEntry, 'family'>,
  pool: Pool,
  { names, sharedPort }: Memory,
) {
  const key = [sourceAddress(family)]
  const backend = destinationAddress(family)
  const [map, ports] = [names.clients(pool), names.ports(pool)]
  if (sharedPort !== undefined) return [{ map, element: { key, data: [backend] } }]
  if (family === 4) return [{ map, element: { key, data: [backend, DESTINATION_PORT] } }]
  return [
    { map, element: { key, data: [backend] } },
    { map: ports, element: { key, data: [DESTINATION_PORT] } },
  ]
}

/** Backends that get new connections, each once. */
function distinct(backends: readonly Backend[]): readonly Backend[] {
  const usable = backends.filter(({ weight }) => weight > 0)
  return [...new Map(usable.map((one) => [`${one.ip} ${one.port}`, one])).values()]
}
