import { type Cidr, parseCidr } from '../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  stringAt,
  valueAt,
} from '../lib/json.ts'
import { present } from '../resources/reader.ts'
import type { Protocol } from '../resources/types.ts'
import {
  type Direction,
  isSelector,
  type NetworkPolicy,
  type PolicyPeer,
  type PolicyPort,
  type PolicyRule,
} from './network-policy.ts'

const PROTOCOLS: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']

/**
 * Reads a NetworkPolicy object. A peer or port that cannot be read admits nothing: it never widens its rule to all
 * peers or ports, as an empty list would. A policy whose `podSelector` cannot be read isolates all Pods of its
 * namespace, and admits nothing.
 */
export function readPolicy(object: JsonObject): NetworkPolicy {
  const namespace = stringAt(object, 'metadata', 'namespace')
  const podSelector = valueAt(object, 'spec', 'podSelector') ?? {}
  const isReadable = isSelector(podSelector)
  const rulesIn = (one: Direction) => (isReadable ? rulesOf(object, one) : [])
  return {
    key: `${namespace}/${stringAt(object, 'metadata', 'name')}`,
    namespace,
    podSelector: isReadable ? podSelector : {},
    rules: Object.fromEntries(directionsOf(object).map((one) => [one, rulesIn(one)])),
  }
}

/** Without `policyTypes`: ingress, and also egress if there are egress rules. */
function directionsOf(object: JsonObject): readonly Direction[] {
  const types = arrayAt(object, 'spec', 'policyTypes')
  const hasEgress = arrayAt(object, 'spec', 'egress').length > 0
  if (types.length === 0) return hasEgress ? ['ingress', 'egress'] : ['ingress']
  return [
    ...(types.includes('Ingress') ? (['ingress'] as const) : []),
    ...(types.includes('Egress') ? (['egress'] as const) : []),
  ]
}

function rulesOf(object: JsonObject, direction: Direction): readonly PolicyRule[] {
  const peers = direction === 'ingress' ? 'from' : 'to'
  return arrayAt(object, 'spec', direction)
    .filter(isJsonObject)
    .map((rule) => ({
      peers: anyOr(valueAt(rule, peers), readPeer),
      ports: anyOr(valueAt(rule, 'ports'), readPort),
    }))
}

/** An absent or empty list admits any. */
function anyOr<T>(list: Json | undefined, read: (item: Json) => T | undefined) {
  if (list === undefined || list === null) return 'any'
  if (!Array.isArray(list)) return []
  return list.length === 0 ? 'any' : present(list.map(read))
}

function readPeer(peer: Json): PolicyPeer | undefined {
  const block = valueAt(peer, 'ipBlock') ?? undefined
  if (block !== undefined) return isJsonObject(block) ? readBlock(block) : undefined
  const namespaceSelector = valueAt(peer, 'namespaceSelector') ?? undefined
  const podSelector = valueAt(peer, 'podSelector') ?? undefined
  const selectors = present([namespaceSelector, podSelector])
  if (selectors.length === 0 || !selectors.every(isSelector)) return undefined
  return {
    kind: 'pods',
    ...(namespaceSelector !== undefined && { namespaceSelector }),
    ...(podSelector !== undefined && { podSelector }),
  }
}

/** If the exceptions cannot be read, the whole block is left out. */
function readBlock(block: JsonObject): PolicyPeer | undefined {
  const networkOf = (value: Json | undefined): Cidr | undefined =>
    typeof value === 'string' ? parseCidr(value) : undefined
  const cidr = networkOf(valueAt(block, 'cidr'))
  const listed = valueAt(block, 'except') ?? []
  if (cidr === undefined || !Array.isArray(listed)) return undefined
  const except = present(listed.map(networkOf))
  if (except.length < listed.length) return undefined
  return { kind: 'block', cidr, except }
}

function readPort(item: Json): PolicyPort | undefined {
  const written = stringAt(item, 'protocol')
  const protocol = PROTOCOLS.find((one) => one === (written || 'TCP'))
  const port = valueAt(item, 'port') ?? undefined
  if (protocol === undefined || !isJsonObject(item)) return undefined
  if (port === undefined) return { protocol }
  if (typeof port === 'string') return { protocol, port }
  const last = valueAt(item, 'endPort') ?? port
  if (typeof port !== 'number' || typeof last !== 'number') return undefined
  return { protocol, port: { first: port, last } }
}
