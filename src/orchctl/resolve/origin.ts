import { addressOfReverseName, dashedAddress } from '../../dns/zone/address-names.ts'
import type { ZoneRecord } from '../../dns/zone/record.ts'
import { dataText } from '../../dns/zone/record-text.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import type { EndpointFact } from './endpoint-facts.ts'
import type { Origin, ShownRecord } from './resolution.ts'
import { zoneNameOf } from './zone-name.ts'

/** The record with the object that it comes from. */
export function shownRecord(record: ZoneRecord, objects: ClusterObjects): ShownRecord {
  const { name, type, ttl } = record
  return { name, type, ttl, data: dataText(record), origin: originOf(record, objects) }
}

function originOf(record: ZoneRecord, objects: ClusterObjects): Origin {
  const zone = { kind: 'Zone', name: objects.domain, field: '', pod: '' }
  const named = record.type === 'PTR' ? record.data : record.name
  const part = zoneNameOf(named, objects.domain)
  const service = part.kind === 'service' ? objects.service(part.key) : undefined
  if (part.kind !== 'service' || service === undefined) return zone
  const ofService = (field: string): Origin => ({
    ...{ kind: 'Service', name: service.key, field, pod: '' },
  })
  if (record.type === 'CNAME') return ofService('spec.externalName')
  const { clusterIPs, ports } = service
  if (record.type === 'SRV' && clusterIPs.length > 0) {
    const index = ports.findIndex(({ port }) => port === record.data.port)
    return ofService(`spec.ports[${index}]`)
  }
  if (clusterIPs.length > 0) {
    const address = record.type === 'PTR' ? addressOfReverseName(record.name) : record.data
    return ofService(`spec.clusterIPs[${clusterIPs.findIndex((ip) => ip === address)}]`)
  }
  const fact = objects.factsOf(service.key).find((one) => isOf(one, record, part.below))
  if (fact === undefined) return ofService('')
  const { kind, name, field, pod } = fact
  return { kind, name, field, pod }
}

/** Whether a record of a headless Service is of this endpoint. */
function isOf(fact: EndpointFact, record: ZoneRecord, below: readonly string[]): boolean {
  if (record.type === 'A' || record.type === 'AAAA') return fact.ip === record.data
  const label = record.type === 'SRV' ? record.data.target.split('.')[0] : below[0]
  return label === labelOf(fact)
}

/** The label of an endpoint below the name of its Service. */
export function labelOf({ hostname, ip }: EndpointFact): string {
  return hostname === '' ? dashedAddress(ip) : hostname
}
