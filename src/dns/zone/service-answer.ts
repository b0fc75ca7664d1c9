import type { IpAddress } from '../../lib/ip.ts'
import type {
  EndpointPort,
  EndpointSource,
  Protocol,
  Service,
  ServiceKey,
} from '../../resources/types.ts'
import { addressRecord, addressType, dashedAddress } from './address-names.ts'
import { RECORD_TTL, type ZoneRecord, type ZoneView } from './record.ts'
import { EMPTY, foundOrEmpty, MISSING, type ZoneAnswer } from './zone-answer.ts'

/** A question about a Service of the zone. */
export interface ServiceQuestion {
  readonly key: ServiceKey
  /** The name that was queried. */
  readonly name: string
  /** The name of the Service in the zone: `web.shop.svc.cluster.local`. */
  readonly serviceName: string
  /** The labels of `name` before `serviceName`, in the order of the name. */
  readonly below: readonly string[]
  /** The type of record that was queried for. */
  readonly type: string
}

/**
 * The answer to a question about a Service, by the Kubernetes DNS specification. Address records contain its
 * ClusterIPs or, for a headless Service, the addresses of its endpoints. SRV records contain its ports. For an
 * ExternalName Service the answer is its CNAME record alone, whatever type was queried for.
 */
export function serviceAnswer(view: ZoneView, question: ServiceQuestion): ZoneAnswer {
  const service = view.service(question.key)
  if (service === undefined) return MISSING
  if (service.type === 'ExternalName') return externalAnswer(service, question)
  const { below, type } = question
  const queried = portQuery(below)
  const isPortQuestion = queried !== undefined && (below.length > 0 || type === 'SRV')
  if (service.clusterIPs.length > 0) {
    if (queried === undefined) return MISSING
    return isPortQuestion
      ? clusterTargets(service, question, queried)
      : clusterAddresses(service, question.name, type)
  }
  const hosts = endpointHosts(service, view.endpointSourcesOf(service.key))
  if (isPortQuestion) return headlessTargets(question, hosts, queried)
  if (below.length > 1) return MISSING
  const [label] = below
  return headlessAddresses(
    question,
    label === undefined ? hosts : hosts.filter((host) => host.label === label),
  )
}

/** The CNAME record of an ExternalName Service. No name exists below that of the Service. */
function externalAnswer(
  { key, externalName }: Service,
  { name, below }: ServiceQuestion,
): ZoneAnswer {
  if (below.length > 0 || externalName === undefined) return MISSING
  const answers = [{ name, type: 'CNAME', ttl: RECORD_TTL, data: externalName }] as const
  return { kind: 'found', answers, additionals: [], service: key, target: externalName }
}

/** The ClusterIPs of a Service of the family that the type is for, whether the Service has endpoints or not. */
function clusterAddresses(service: Service, name: string, type: string): ZoneAnswer {
  const queried = service.clusterIPs.filter((ip) => addressType(ip) === type)
  return foundOrEmpty(
    queried.map((ip) => addressRecord(name, ip)),
    [],
    service.key,
  )
}

/** The ports that a question queries for. An absent field stands for every port name, or every protocol. */
interface PortQuery {
  readonly name?: string
  readonly protocol?: Protocol
}

/**
 * One SRV record for each port that is queried for, with the ClusterIPs as additional records. A name below that of the
 * Service exists only if there is such a port.
 */
function clusterTargets(
  service: Service,
  { name, serviceName, type }: ServiceQuestion,
  queried: PortQuery,
): ZoneAnswer {
  const ports = service.ports.filter((port) => isPortQueried(port, queried))
  if (ports.length === 0) return name === serviceName ? EMPTY : MISSING
  if (type !== 'SRV') return EMPTY
  const targets = ports.map(({ port }) => ({ port, target: serviceName }))
  const addresses = service.clusterIPs.map((ip) => addressRecord(serviceName, ip))
  return foundOrEmpty(serviceRecords(name, targets), addresses, service.key)
}

/** A port, and the name of the addresses at which it is served. */
interface Target {
  readonly port: number
  readonly target: string
}

/** Divided among the SRV records of an answer, as in CoreDNS. */
const FULL_WEIGHT = 100

/** SRV records of equal weight, which is at least 1. */
function serviceRecords(name: string, targets: readonly Target[]): readonly ZoneRecord[] {
  const weight = Math.max(1, Math.floor(FULL_WEIGHT / targets.length))
  return targets.map((one) => ({
    name,
    type: 'SRV',
    ttl: RECORD_TTL,
    data: { priority: 0, weight, ...one },
  }))
}

/** One address of an endpoint of a headless Service, which has a name below that of the Service. */
export interface EndpointHost {
  /** The first label of that name: the hostname of the endpoint or, without one, its address with dashes. */
  readonly label: string
  /** Whether the endpoint has a hostname. Only then the PTR record of its address contains this name. */
  readonly isNamed: boolean
  readonly ip: IpAddress
  readonly ports: readonly EndpointPort[]
}

/**
 * The addresses of `hosts`: all endpoints of the Service, or those with a label. Without hosts the name does not
 * exist.
 */
function headlessAddresses(
  { key, name, type }: ServiceQuestion,
  hosts: readonly EndpointHost[],
): ZoneAnswer {
  if (hosts.length === 0) return MISSING
  const queried = new Set(hosts.map(({ ip }) => ip).filter((ip) => addressType(ip) === type))
  return foundOrEmpty(
    [...queried].map((ip) => addressRecord(name, ip)),
    [],
    key,
  )
}

/**
 * One SRV record for each endpoint name and port that is queried for, with the addresses of the endpoints as
 * additional records. A name below that of the Service exists only if there is such a port; that of the Service, if it
 * has endpoints.
 */
function headlessTargets(
  { key, name, serviceName, type }: ServiceQuestion,
  hosts: readonly EndpointHost[],
  queried: PortQuery,
): ZoneAnswer {
  const targets = new Map<string, Target>()
  const addresses = new Map<string, ZoneRecord>()
  for (const { label, ip, ports } of hosts) {
    const target = `${label}.${serviceName}`
    for (const one of ports) {
      if (!isPortQueried(one, queried)) continue
      targets.set(`${one.port} ${target}`, { port: one.port, target })
      addresses.set(`${target} ${ip}`, addressRecord(target, ip))
    }
  }
  if (targets.size === 0) return hosts.length > 0 && name === serviceName ? EMPTY : MISSING
  return type === 'SRV'
    ? foundOrEmpty(serviceRecords(name, [...targets.values()]), [...addresses.values()], key)
    : foundOrEmpty([], [], key)
}

/** Protocols by their label (RFC 2782). */
const PROTOCOLS: ReadonlyMap<string | undefined, Protocol> = new Map([
  ['_tcp', 'TCP'],
  ['_udp', 'UDP'],
  ['_sctp', 'SCTP'],
])

/**
 * The ports that the labels before the name of a Service query for: all without labels, those of a protocol (`_tcp`),
 * or those of a name and protocol (`_http._tcp`). Undefined for labels of any other form.
 */
export function portQuery(labels: readonly string[]): PortQuery | undefined {
  if (labels.length === 0) return {}
  const protocol = PROTOCOLS.get(labels.at(-1))
  if (protocol === undefined || labels.length > 2) return undefined
  if (labels.length === 1) return { protocol }
  const [label = ''] = labels
  return label.startsWith('_') && label.length > 1 ? { name: label.slice(1), protocol } : undefined
}

/**
 * Whether a port is one of those that are queried for. A port without a name is found only by the query without labels,
 * because no SRV name can contain it.
 */
export function isPortQueried(
  port: { readonly name: string; readonly protocol: Protocol },
  { name, protocol }: PortQuery,
): boolean {
  if (protocol !== undefined && port.protocol !== protocol) return false
  return name === undefined ? protocol === undefined || port.name !== '' : port.name === name
}

/**
 * The endpoints of a headless Service that have names: the ready ones, or all of them with `publishNotReadyAddresses`.
 * An address that several sources list with the same name is returned once, with the ports of all these sources.
 */
export function endpointHosts(
  service: Service,
  sources: readonly EndpointSource[],
): readonly EndpointHost[] {
  const hosts = new Map<string, EndpointHost>()
  for (const { ports, endpoints } of sources.flatMap(({ groups }) => groups)) {
    for (const { ip, hostname, ready } of endpoints) {
      if (!ready && !service.publishNotReadyAddresses) continue
      const label = hostname ?? dashedAddress(ip)
      const key = `${label} ${ip}`
      const known = hosts.get(key)
      const all = known === undefined ? ports : mergedPorts(known.ports, ports)
      hosts.set(key, { label, isNamed: hostname !== undefined, ip, ports: all })
    }
  }
  return [...hosts.values()]
}

function mergedPorts(
  known: readonly EndpointPort[],
  more: readonly EndpointPort[],
): readonly EndpointPort[] {
  const added = more.filter((one) => !known.some((other) => isSamePort(one, other)))
  return added.length === 0 ? known : [...known, ...added]
}

function isSamePort(one: EndpointPort, other: EndpointPort): boolean {
  return one.name === other.name && one.protocol === other.protocol && one.port === other.port
}
