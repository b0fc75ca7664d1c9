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

const FULL_WEIGHT = 100

/** A question about a Service of the zone. */
export interface ServiceQuestion {
  readonly key: ServiceKey
  /** The name that was queried, and that of the Service. */
  readonly name: string
  readonly serviceName: string
  /** The labels of the name before that of the Service. */
  readonly below: readonly string[]
  readonly type: string
}

/**
 * The records of a Service by the Kubernetes DNS specification: its ClusterIPs or, for a headless Service, the
 * addresses of its endpoints; SRV records of its ports; for an ExternalName Service a CNAME, which `found` then
 * holds alone.
 */
export function serviceAnswer(view: ZoneView, question: ServiceQuestion): ZoneAnswer {
  const service = view.service(question.key)
  if (service === undefined) return MISSING
  if (service.type === 'ExternalName') return externalAnswer(service, question)
  const { below, type } = question
  const queried = portQuery(below)
  const isPort = queried !== undefined && (below.length > 0 || type === 'SRV')
  if (service.clusterIPs.length > 0) {
    if (queried === undefined) return MISSING
    return isPort
      ? clusterTargets(service, question, queried)
      : clusterAddresses(service, question.name, type)
  }
  const hosts = endpointHosts(service, view.endpointSourcesOf(service.key))
  if (isPort) return headlessTargets(question, hosts, queried)
  if (below.length > 1) return MISSING
  const [label] = below
  return headlessAddresses(
    question,
    label === undefined ? hosts : hosts.filter((host) => host.label === label),
  )
}

function externalAnswer(
  { key, externalName }: Service,
  { name, below }: ServiceQuestion,
): ZoneAnswer {
  if (below.length > 0 || externalName === undefined) return MISSING
  const answers = [{ name, type: 'CNAME', ttl: RECORD_TTL, data: externalName }] as const
  return { kind: 'found', answers, additionals: [], service: key, target: externalName }
}

/** The ClusterIPs of a Service, whether it has endpoints or not. */
function clusterAddresses(service: Service, name: string, type: string): ZoneAnswer {
  const queried = service.clusterIPs.filter((ip) => addressType(ip) === type)
  return foundOrEmpty(
    queried.map((ip) => addressRecord(name, ip)),
    [],
    service.key,
  )
}

/** One SRV record for each port that is queried for; the name exists only if there is such a port. */
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

/** SRV records of equal weight. */
function serviceRecords(name: string, targets: readonly Target[]): readonly ZoneRecord[] {
  const weight = Math.max(1, Math.floor(FULL_WEIGHT / targets.length))
  return targets.map((one) => ({
    name,
    type: 'SRV',
    ttl: RECORD_TTL,
    data: { priority: 0, weight, ...one },
  }))
}

/** The addresses of all endpoints, or of those with the label. The name exists only if there is such an endpoint. */
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
 * One SRV record for each endpoint name and port that is queried for, of equal weight, with the addresses of
 * the targets. The name exists only if there is such a port.
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

/** A port that a question queries for; an absent part stands for every name or protocol. */
interface PortQuery {
  readonly name?: string
  readonly protocol?: Protocol
}

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  _tcp: 'TCP',
  _udp: 'UDP',
  _sctp: 'SCTP',
}

/**
 * The port of the labels before the name of a Service: none, `_tcp`, or `_http._tcp`. Undefined when they
 * name no port.
 */
export function portQuery(labels: readonly string[]): PortQuery | undefined {
  if (labels.length === 0) return {}
  const protocol = PROTOCOLS[labels.at(-1)!]
  if (protocol === undefined || labels.length > 2) return undefined
  if (labels.length === 1) return { protocol }
  const [label = ''] = labels
  return label.startsWith('_') && label.length > 1 ? { name: label.slice(1), protocol } : undefined
}

/** Whether a named port is the one queried for; a port without name has no SRV record of its own. */
export function isPortQueried(
  port: { readonly name: string; readonly protocol: Protocol },
  { name, protocol }: PortQuery,
): boolean {
  if (protocol !== undefined && port.protocol !== protocol) return false
  return name === undefined ? protocol === undefined || port.name !== '' : port.name === name
}

/** One address below the name of a headless Service. */
export interface EndpointHost {
  /** The label of its name: the hostname of the endpoint, else its address with dashes. */
  readonly label: string
  /** Whether the endpoint has a hostname; only then its address has this name for PTR. */
  readonly isNamed: boolean
  readonly ip: IpAddress
  readonly ports: readonly EndpointPort[]
}

/**
 * The endpoints that a headless Service has names for: the ready ones, or all of them with
 * `publishNotReadyAddresses`. An address that several sources list with the same name counts once, with the
 * ports of all.
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
