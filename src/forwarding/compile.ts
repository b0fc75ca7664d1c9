import { type Family, familyOf } from '../lib/ip.ts'
import type { EndpointSource, Service, ServiceKey, ServicePort } from '../resources/types.ts'
import { shareAffinity } from './affinity.ts'
import { collectCandidates } from './backends.ts'
import type {
  DrainingBackend,
  EntryId,
  ForwardingEntry,
  RejectedFrontend,
  TableDelta,
} from './entry.ts'
import { frontendsOf } from './frontends.ts'
import { hasHealthCheck } from './health-check.ts'
import { type ClusterView, clusterIPsOf, isServed, type NodeContext } from './node-context.ts'
import { poolsOf } from './pools.ts'
import type { ForwardingTable } from './table.ts'

const NONE: readonly DrainingBackend[] = Object.freeze([])

/**
 * What this node must forward for one Service: one entry per port and family, in the order of the ports,
 * IPv4 first. It depends only on the Service, its endpoints and the node; `ForwardingTable` decides between
 * Services that claim one address.
 */
export function compileService(
  key: ServiceKey,
  cluster: ClusterView,
  node: NodeContext,
): readonly ForwardingEntry[] {
  const service = cluster.service(key)
  if (service === undefined || !isServed(service, node)) return []
  const sources = cluster.endpointSourcesOf(key)
  const families = familiesOf(service)
  const entries = distinctPorts(service).flatMap((port) =>
    families.map((family) => compilePort({ service, port, family, sources, node })),
  )
  const isShared = service.affinitySeconds !== undefined && node.affinityScope === 'service'
  return isShared ? shareAffinity(entries) : entries
}

/** `namespace/name:port/protocol/family`; the port name is empty for an unnamed port. */
function entryId(service: ServiceKey, { name, protocol }: ServicePort, family: Family): EntryId {
  return `${service}:${name}/${protocol}/${family}` as EntryId
}

/** The inputs for compiling one port for one family. */
interface PortInput {
  readonly service: Service
  readonly port: ServicePort
  readonly family: Family
  readonly sources: readonly EndpointSource[]
  readonly node: NodeContext
}

function compilePort({ service, port, family, sources, node }: PortInput): ForwardingEntry {
  const { frontends, refused } = frontendsOf(service, port, family, node)
  const candidates = collectCandidates(sources, port, family, node.name)
  const { pools, whenEmpty } = poolsOf(candidates.all, frontends, service, node)
  const seconds = service.affinitySeconds
  const entry: ForwardingEntry = {
    id: entryId(service.key, port, family),
    service: service.key,
    portName: port.name,
    protocol: port.protocol,
    family,
    frontends,
    pools,
    whenEmpty,
    draining: NONE,
    affinity: seconds === undefined ? undefined : { seconds },
    scheduler: service.scheduler,
    ...(service.proxyProtocol !== undefined && { proxyProtocol: service.proxyProtocol }),
    ...healthCheckPortOf(service, port),
  }
  const problems = [...refused, ...candidates.refused, ...duplicatesOf(port, service, family)]
  return problems.length === 0 ? entry : { ...entry, refused: problems }
}

/** A Service has one port for health checks, which is at the entries of its first Service port. */
function healthCheckPortOf(
  service: Service,
  port: ServicePort,
): Pick<ForwardingEntry, 'healthCheckPort'> {
  if (port !== service.ports[0] || !hasHealthCheck(service)) return {}
  return { healthCheckPort: service.healthCheckNodePort }
}

function familiesOf(service: Service): readonly Family[] {
  return ([4, 6] as const).filter((family) =>
    service.clusterIPs.some((ip) => familyOf(ip) === family),
  )
}

/** Of several ports with the same name and protocol, only the first: they would share an id. */
function distinctPorts({ ports }: Service): readonly ServicePort[] {
  if (ports.length < 2) return ports
  return ports.filter((port) => ports.find((other) => isSamePort(other, port)) === port)
}

/** The ports that `distinctPorts` leaves out because of `port`. */
function duplicatesOf(
  port: ServicePort,
  { ports, clusterIPs }: Service,
  family: Family,
): readonly RejectedFrontend[] {
  const ip = clusterIPs.find((one) => familyOf(one) === family)
  if (ports.length < 2 || ip === undefined) return []
  return ports
    .filter((other) => other !== port && isSamePort(other, port))
    .map((other) => ({
      kind: 'clusterIP',
      ip,
      port: other.port,
      code: 'NP_FORWARDING_DUPLICATE_PORT',
      message: `port ${other.port}/${other.protocol} has the name ${JSON.stringify(other.name)} of port ${port.port}; give every port its own name`,
    }))
}

function isSamePort(a: ServicePort, b: ServicePort): boolean {
  return a.name === b.name && a.protocol === b.protocol
}

/** The inputs for compiling a Service. */
interface Compilation {
  readonly cluster: ClusterView
  readonly node: NodeContext
  /** See `ForwardingTable.replace`. */
  readonly now: number
}

/** Compiles one Service, and replaces its entries in the table; a deleted Service loses them. */
export function recompile(
  table: ForwardingTable,
  key: ServiceKey,
  { cluster, node, now }: Compilation,
): TableDelta {
  const entries = compileService(key, cluster, node)
  return table.replace(key, entries, now, clusterIPsOf(key, cluster))
}
