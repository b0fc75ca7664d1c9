import { type Family, familyOf, type IpAddress } from '../../../lib/ip.ts'
import { isInScope } from '../../../modes/netfilter/settings/node-port-scope.ts'
import type { Protocol } from '../../../resources/types.ts'
import type { DesiredRules } from '../../explanation/desired-state.ts'
import type { PacketSource } from './packet-sources.ts'
import type { Probe } from './probe.ts'
import type { SampledEntries, SampledFrontend } from './sampled-entries.ts'

/** Who may send. */
export interface Senders {
  readonly pods: readonly PacketSource[]
  readonly outside: readonly PacketSource[]
  /** A client that an operator named. */
  readonly client: PacketSource | undefined
  /** Addresses of this node, the best for node ports first. */
  readonly node: readonly IpAddress[]
}

/** Whether a service on loopback could be reached by a neighbour. */
const LOOPBACK = { dst: '127.0.0.1' as IpAddress, port: 10_249, protocol: 'TCP' } as const

/** The packets that show what is in the way, those from Pods first. */
export function chooseProbes(
  sample: SampledEntries,
  senders: Senders,
  rules: DesiredRules,
): readonly Probe[] {
  const { clusterIps, nodePorts, external, withoutLocal, withRanges } = sample
  const outer = [...nodePorts, ...external]
  const fromClient = senders.client === undefined ? [] : [senders.client]
  const probes = (
    purpose: Probe['purpose'],
    frontends: readonly SampledFrontend[],
    sources: readonly (PacketSource | undefined)[],
  ) =>
    frontends.flatMap((to) =>
      sourcesFor(to, sources).flatMap((source) => probeOf(purpose, { to, source }, senders, rules)),
    )
  return [
    ...clusterIps.flatMap((to) => probes('fromPod', [to], [podFor(to, senders.pods)])),
    ...probes('fromNode', clusterIps.slice(0, 1), [undefined]),
    ...probes('fromOutside', outer, senders.outside),
    ...probes('noLocalEndpoint', withoutLocal, farAway(senders.outside)),
    ...probes('fromClient', [...outer, ...withoutLocal, ...withRanges], fromClient),
    ...senders.outside
      .filter(({ src }) => familyOf(src) === 4)
      .slice(0, 1)
      .map((source) => ({ purpose: 'toLoopback', to: undefined, source, ...LOOPBACK }) as const),
  ]
}

/** The last sender of each family. */
function farAway(sources: readonly PacketSource[]): readonly PacketSource[] {
  return [...new Map(sources.map((source) => [familyOf(source.src), source])).values()]
}

/** A Pod that is no backend of the entry, if there is one. */
function podFor({ entry }: SampledFrontend, pods: readonly PacketSource[]) {
  const family = pods.filter(({ src }) => familyOf(src) === entry.family)
  const others = family.filter(({ src }) => entry.backends.every(({ ip }) => ip !== src))
  return others[0] ?? family[0] ?? NO_POD
}

/** Leaves the frontend out, because no sender is known. */
const NO_POD: PacketSource = { src: '' as IpAddress, inInterface: '' }

function sourcesFor({ entry }: SampledFrontend, sources: readonly (PacketSource | undefined)[]) {
  const isFit = (one: PacketSource | undefined) =>
    one === undefined || (one.src !== '' && familyOf(one.src) === entry.family)
  return sources.filter(isFit)
}

function probeOf(
  purpose: Probe['purpose'],
  way: Pick<Probe, 'source'> & { readonly to: SampledFrontend },
  { node }: Senders,
  rules: DesiredRules,
): readonly Probe[] {
  const { entry, frontend } = way.to
  const dst =
    frontend.ip === 'node' ? servingAddress(node, entry.family as Family, rules) : frontend.ip
  if (dst === undefined) return []
  const protocol = entry.protocol as Protocol
  return [{ purpose, ...way, dst: dst as IpAddress, port: frontend.port, protocol }]
}

function servingAddress(
  addresses: readonly IpAddress[],
  family: Family,
  { nodePortScope, localAddresses }: DesiredRules,
): IpAddress | undefined {
  return addresses.find(
    (ip) => familyOf(ip) === family && isInScope(nodePortScope, ip) && localAddresses.includes(ip),
  )
}
