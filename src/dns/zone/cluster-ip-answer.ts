import type { Service, ServicePort } from '../../resources/types.ts'
import { addressRecord, addressType } from './address-record.ts'
import { isPortQueried, type PortQuery } from './port-query.ts'
import { RECORD_TTL, type ZoneRecord } from './record.ts'
import { EMPTY, foundOrEmpty, MISSING, type ZoneAnswer } from './zone-answer.ts'

const FULL_WEIGHT = 100

/** The cluster addresses of a Service, with or without endpoints. */
export function clusterAddresses(service: Service, name: string, type: string): ZoneAnswer {
  const queried = service.clusterIPs.filter((ip) => addressType(ip) === type)
  return foundOrEmpty(
    queried.map((ip) => addressRecord(name, ip)),
    [],
    service.key,
  )
}

/** A question about the ports of a Service: the names that were queried and that of the Service. */
export interface ServicePortQuestion {
  readonly name: string
  readonly serviceName: string
  readonly type: string
  readonly port: PortQuery
}

/** One SRV record for each port that is queried for; the name exists only with such a port. */
export function clusterTargets(service: Service, question: ServicePortQuestion): ZoneAnswer {
  const { name, serviceName, type } = question
  const ports = service.ports.filter((port) => isPortQueried(port, question.port))
  if (ports.length === 0) return name === serviceName ? EMPTY : MISSING
  if (type !== 'SRV') return EMPTY
  const weight = Math.max(1, Math.floor(FULL_WEIGHT / ports.length))
  const record = ({ port }: ServicePort): ZoneRecord => ({
    ...{ name, type: 'SRV', ttl: RECORD_TTL },
    data: { priority: 0, weight, port, target: serviceName },
  })
  const addresses = service.clusterIPs.map((ip) => addressRecord(serviceName, ip))
  return foundOrEmpty(ports.map(record), addresses, service.key)
}
