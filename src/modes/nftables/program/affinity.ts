import type { Backend, ForwardingEntry, Pool } from '../../../forwarding/entry.ts'
import type { FieldType, Rule } from '../../../kernel/nftables/objects.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { backendData } from '../keys/encode.ts'
import { type AffinityNames, affinityNames, commentOf } from '../keys/names.ts'
import { DESTINATION_PORT, destinationAddress, sourceAddress } from '../statements/fields.ts'
import { isProtocol } from '../statements/matches.ts'
import {
  goto,
  isIn,
  remove,
  type Statement,
  translate,
  translateByTwo,
  update,
} from '../statements/statements.ts'
import { markRules } from './choice-chain.ts'
import type { ChainContent, SetContent } from './content.ts'
import type { Route } from './routes.ts'

/**
 * Clients that one pool of an entry remembers at most. The kernel allocates buckets in advance for the lowest 16
 * bits of this number (`nelem_hint` of linux/rhashtable-types.h), which are 0: a map starts with 64 buckets and
 * grows with its clients.
 */
const MAX_CLIENTS = 2 ** 20

/**
 * The maps, sets and chains of an entry with affinity. Each pool that packets reach has a map of its own: the
 * client of a local pool must not be sent to another node. A client is remembered only with a backend that the
 * pool has now.
 */
export function affinityObjects(
  entry: ForwardingEntry,
  routes: readonly Route[],
  settings: NetfilterSettings,
): readonly (SetContent | ChainContent)[] {
  const names = affinityNames(entry.id)
  const pools = [...new Set(routes.map(({ pool }) => pool))].toSorted()
  const sticky = new Map(routes.map((route) => [names.sticky(route.pool, route.chain), route]))
  return [
    ...pools.flatMap((pool) => setsOf(entry, pool, names)),
    {
      kind: 'chain',
      name: names.remember,
      spec: {},
      rules: pools.map((pool) => rememberRule(entry, pool, names)),
    },
    ...[...sticky].map(([name, route]): ChainContent => {
      const marks = markRules(route.mark, settings, entry.family)
      const rules = [...marks, ...knownClients(entry, route.pool, names)]
      return {
        kind: 'chain',
        name,
        spec: {},
        rules: [...rules, { expressions: goto(route.chain) }],
      }
    }),
  ]
}

function setsOf(entry: ForwardingEntry, pool: Pool, names: AffinityNames): readonly SetContent[] {
  const { family, id } = entry
  const comment = commentOf(id)
  const ip: FieldType = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const elements = distinct(entry.pools[pool]).map((one) => ({ key: backendData(one) }))
  const map = (name: string, data: readonly FieldType[]): SetContent => {
    const flags = { isDynamic: true, hasTimeouts: true } as const
    const spec = { key: [ip], data, ...flags, size: MAX_CLIENTS, comment }
    return { kind: 'set', name, spec, elements: [] }
  }
  return [
    ...(family === 4
      ? [map(names.clients(pool), [ip, 'inet_service'])]
      : [map(names.clients(pool), [ip]), map(names.ports(pool), ['inet_service'])]),
    {
      kind: 'set',
      name: names.backends(pool),
      spec: { key: [ip, 'inet_service'], comment },
      elements,
    },
  ]
}

/** In postrouting, where the destination is a backend. */
function rememberRule(entry: ForwardingEntry, pool: Pool, names: AffinityNames): Rule {
  const timeout = (entry.affinity?.seconds ?? 0) * 1_000
  const target = [destinationAddress(entry.family), DESTINATION_PORT]
  const updates = clientMaps(entry, pool, names).map(({ map, element }) =>
    update(map, { ...element, timeout }),
  )
  return {
    expressions: [...isIn(names.backends(pool), ...target), ...updates.flat()],
    comment: commentOf(entry.id),
  }
}

/**
 * Where a client was remembered with an address and lost the port, or the other way round, it is forgotten as a
 * whole: what it is remembered with next must not be a mixture of two backends.
 */
function knownClients(
  { family, id, protocol }: ForwardingEntry,
  pool: Pool,
  names: AffinityNames,
): readonly Rule[] {
  const comment = commentOf(id)
  const client = sourceAddress(family)
  const [addresses, ports] = [names.clients(pool), names.ports(pool)]
  const send: Statement =
    family === 4
      ? translate(family, addresses, client)
      : translateByTwo(family, { addresses, ports }, client)
  const forget = clientMaps({ family }, pool, names).map(({ map, element }) => remove(map, element))
  return [
    { expressions: [...isProtocol(protocol), ...send], comment },
    ...(family === 4 ? [] : [{ expressions: forget.flat() }]),
  ]
}

/**
 * What a packet adds for its client. nft 1.0.6 cannot parse rules that add an IPv6 address with a port as data,
 * so in IPv6 the ports have a map of their own.
 */
function clientMaps({ family }: Pick<ForwardingEntry, 'family'>, pool: Pool, names: AffinityNames) {
  const key = [sourceAddress(family)]
  const backend = destinationAddress(family)
  if (family === 4) {
    return [{ map: names.clients(pool), element: { key, data: [backend, DESTINATION_PORT] } }]
  }
  return [
    { map: names.clients(pool), element: { key, data: [backend] } },
    { map: names.ports(pool), element: { key, data: [DESTINATION_PORT] } },
  ]
}

/** Backends that get new connections, each once. */
function distinct(backends: readonly Backend[]): readonly Backend[] {
  const usable = backends.filter(({ weight }) => weight > 0)
  return [...new Map(usable.map((one) => [`${one.ip} ${one.port}`, one])).values()]
}
