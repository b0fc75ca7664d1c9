import type { Service, ServiceKey, ServicePort } from '../../resources/types.ts'
import { addressRecord, addressType } from './address-names.ts'
import { endpointHosts } from './endpoint-hosts.ts'
import { type HeadlessQuestion, headlessAddresses, headlessTargets } from './headless-answer.ts'
import { isPortQueried, type PortQuery, portQuery } from './port-query.ts'
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
  if (service.clusterIPs.length > 0) {
    if (queried === undefined) return MISSING
    const isPort = below.length > 0 || type === 'SRV'
    return isPort
      ? clusterTargets(service, { ...question, port: queried })
      : clusterAddresses(service, question.name, type)
  }
  return headlessAnswer(view, service, question)
}

function externalAnswer(
  { key, externalName }: Service,
  { name, below }: ServiceQuestion,
): ZoneAnswer {
  if (below.length > 0 || externalName === undefined) return MISSING
  const answers = [{ name, type: 'CNAME', ttl: RECORD_TTL, data: externalName }] as const
  return { kind: 'found', answers, additionals: [], service: key, target: externalName }
}

function headlessAnswer(
  view: ZoneView,
  service: Service,
  question: ServiceQuestion & HeadlessQuestion,
): ZoneAnswer {
  const { key, below, type } = question
  const hosts = endpointHosts(service, view.endpointSourcesOf(key))
  const queried = portQuery(below)
  if (queried !== undefined && (below.length > 0 || type === 'SRV')) {
    return headlessTargets(question, hosts, queried)
  }
  if (below.length > 1) return MISSING
  const [label] = below
  return headlessAddresses(
    question,
    label === undefined ? hosts : hosts.filter((host) => host.label === label),
  )
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

/** A question about the ports of a Service: the names that were queried and that of the Service. */
interface ServicePortQuestion {
  readonly name: string
  readonly serviceName: string
  readonly type: string
  readonly port: PortQuery
}

/** One SRV record for each port that is queried for; the name exists only if there is such a port. */
function clusterTargets(service: Service, question: ServicePortQuestion): ZoneAnswer {
  const { name, serviceName, type } = question
  const ports = service.ports.filter((port) => isPortQueried(port, question.port))
  if (ports.length === 0) return name === serviceName ? EMPTY : MISSING
  if (type !== 'SRV') return EMPTY
  const weight = Math.max(1, Math.floor(FULL_WEIGHT / ports.length))
  const record = ({ port }: ServicePort): ZoneRecord => ({
    name,
    type: 'SRV',
    ttl: RECORD_TTL,
    data: { priority: 0, weight, port, target: serviceName },
  })
  const addresses = service.clusterIPs.map((ip) => addressRecord(serviceName, ip))
  return foundOrEmpty(ports.map(record), addresses, service.key)
}
