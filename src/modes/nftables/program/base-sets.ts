import type { Element, FieldType, SetSpec } from '../../../kernel/nftables/objects.ts'
import { disjoint } from '../../../kernel/nftables/rules/encode.ts'
import { type Cidr, type Family, familyOf, hostCidr } from '../../../lib/ip.ts'
import type { NetfilterSettings } from '../../netfilter/settings/settings.ts'
import { SET } from '../keys/names.ts'

interface BaseSet {
  readonly name: string
  readonly spec: SetSpec
  readonly elements: readonly Element[]
}

/**
 * The maximum number of counted pairs of frontend and backend. The lowest 16 bits are 0, as in `affinity.ts`, so that
 * the set starts small.
 */
const COUNTED = { isDynamic: true, hasTimeouts: true, size: 2 ** 17 } as const

/** Sets and maps that exist regardless of the number of Services, with the elements that belong to no Service. */
export function baseSets(settings: NetfilterSettings, family: Family): readonly BaseSet[] {
  const ip: FieldType = family === 4 ? 'ipv4_addr' : 'ipv6_addr'
  const port: readonly FieldType[] = ['inet_proto', 'inet_service']
  const frontend = [ip, ...port]
  const backend = { data: [ip, 'inet_service'] } as const
  const verdicts = { data: 'verdict' } as const
  const specs: readonly (readonly [string, SetSpec])[] = [
    [SET.services, { key: frontend, ...verdicts }],
    [SET.insideServices, { key: frontend, ...verdicts }],
    [SET.nodePorts, { key: port, ...verdicts }],
    [SET.insideNodePorts, { key: port, ...verdicts }],
    [SET.endpoints, { key: [...frontend, 'index'], ...backend }],
    [SET.insideEndpoints, { key: [...frontend, 'index'], ...backend }],
    [SET.nodePortEndpoints, { key: [...port, 'index'], ...backend }],
    [SET.insideNodePortEndpoints, { key: [...port, 'index'], ...backend }],
    [SET.noEndpoints, { key: frontend, ...verdicts }],
    [SET.clusterAddresses, { key: [ip] }],
    [SET.noEndpointNodePorts, { key: port, ...verdicts }],
    [SET.limitedServices, { key: frontend }],
    [SET.sourceRanges, { key: [...frontend, ip], isInterval: true }],
    [SET.remembered, { key: frontend, ...verdicts }],
    [SET.rememberedNodePorts, { key: port, ...verdicts }],
    ...(settings.countsTraffic ? trafficSets(frontend, port, ip) : []),
  ]
  const networkSet = (name: string, networks: readonly Cidr[] = []): readonly BaseSet[] => {
    const elements = disjoint(networks).map(({ first, last }) => ({ key: first, keyEnd: last }))
    return networks.length === 0 ? [] : [{ name, spec: { key: [ip], isInterval: true }, elements }]
  }
  return [
    ...specs.map(([name, spec]) => ({ name, spec, elements: [] })),
    { name: SET.sameByte, spec: { key: [ip, ip] }, elements: sameBytes(family) },
    ...networkSet(SET.nodePortAddresses, restrictedTo(settings, family)),
    ...networkSet(SET.serviceRanges, rangesOf(settings, family)),
  ]
}

/** Packets by frontend, with an element for each direction; connections by frontend and backend, added by packets. */
function trafficSets(
  frontend: readonly FieldType[],
  port: readonly FieldType[],
  ip: FieldType,
): readonly (readonly [string, SetSpec])[] {
  const counting = { hasCounters: true } as const
  return [
    [SET.trafficIn, { key: frontend, ...counting }],
    [SET.trafficOut, { key: frontend, ...counting }],
    [SET.nodePortTrafficIn, { key: port, ...counting }],
    [SET.nodePortTrafficOut, { key: port, ...counting }],
    [SET.connections, { key: [...frontend, ip, 'inet_service'], ...COUNTED }],
  ]
}

/** The networks whose addresses serve node ports; undefined if every address of this node does. */
export function restrictedTo(
  { nodePortScope: scope }: NetfilterSettings,
  family: Family,
): readonly Cidr[] | undefined {
  if (scope.kind === 'all') return undefined
  const networks = scope.kind === 'networks' ? scope.networks : scope.addresses.map(hostCidr)
  const ours = networks.filter((cidr) => familyOf(cidr) === family)
  return ours.some((cidr) => cidr.endsWith('/0')) ? undefined : ours
}

/** The Service ranges of a family. */
export function rangesOf({ serviceRanges }: NetfilterSettings, family: Family): readonly Cidr[] {
  return serviceRanges?.filter((cidr) => familyOf(cidr) === family) ?? []
}

/** All pairs of addresses that have an equal byte at one position, and 0 elsewhere. */
function sameBytes(family: Family): readonly Element[] {
  const length = family === 4 ? 4 : 16
  const keys = [{ key: Buffer.alloc(2 * length) }]
  for (let place = 0; place < length; place++) {
    for (let byte = 1; byte < 256; byte++) {
      const key = Buffer.alloc(2 * length)
      key[place] = byte
      key[length + place] = byte
      keys.push({ key })
    }
  }
  return keys
}
