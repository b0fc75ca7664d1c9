import { addressOfReverseName, addressType, dashedAddress } from '../../dns/zone/address-names.ts'
import { dataText, type ZoneRecord } from '../../dns/zone/record.ts'
import { isPortQueried, portQuery } from '../../dns/zone/service-answer.ts'
import type { ZoneAnswer } from '../../dns/zone/zone-answer.ts'
import { nearest } from '../../lib/nearest.ts'
import type { Service } from '../../resources/types.ts'
import type { ClusterObjects, EndpointFact } from './cluster-objects.ts'
import { type QueryType, type ZoneName, zoneNameOf } from './question.ts'
import type { Origin, ShownRecord, TypeAnswer } from './resolution.ts'

/** Why a name such as `_http._tcp.web.shop` has no addresses. */
const PORT_TYPES = 'names of ports have records of type SRV alone'

/** The most endpoints that are listed in a sentence. */
const SHOWN = 5

/** The most names of Services that are listed if none is similar. */
const SHOWN_NAMES = 5

/** The most aliases that are followed, as in the zone. */
const MAX_ALIASES = 10

/** What the zone answers for a type at a name, and why. Reads the objects that it depends on. */
export async function evaluate(
  name: string,
  type: QueryType,
  objects: ClusterObjects,
): Promise<TypeAnswer> {
  const read = await answerOf(name, type, objects)
  if (typeof read === 'string') return answer(type, 'UNKNOWN', [], read)
  if (read.kind === 'foreign') return answer(type, 'FORWARDED', [], outside(name, objects.domain))
  if (read.kind !== 'found') {
    const status = read.kind === 'missing' ? 'NXDOMAIN' : 'NODATA'
    return answer(type, status, [], explainDenial(name, type, objects))
  }
  const records = read.answers.map((record) => shownRecord(record, objects))
  if (read.denied !== undefined) {
    const end = records.at(-1)?.data ?? ''
    const status = read.denied === 'missing' ? 'NXDOMAIN' : 'NODATA'
    const why = explainDenial(end, type, objects)
    return answer(type, status, records, `the alias leads to ${end}: ${why}`)
  }
  const isFound = read.target !== undefined || records.some((record) => record.type === type)
  const loop = 'the aliases lead back to themselves, or are too many'
  return isFound ? answer(type, 'NOERROR', records, '') : answer(type, 'NODATA', records, loop)
}

function answer(
  type: string,
  status: TypeAnswer['status'],
  records: ShownRecord[],
  reason: string,
): TypeAnswer {
  return { type, status, records, reason, server: null }
}

function outside(name: string, domain: string): string {
  return addressOfReverseName(name) === undefined
    ? `outside of ${domain}: the server of the cluster queries its upstream, or refuses without one`
    : 'no Service has this address, and no endpoint with a hostname: the server queries its upstream'
}

/** The answer of the zone after every object on which it depends was read; a string: why one cannot be read. */
async function answerOf(
  name: string,
  type: QueryType,
  objects: ClusterObjects,
): Promise<ZoneAnswer | string> {
  const read = new Set<string>()
  for (let next = name; ; ) {
    const refusal = await objects.load(next)
    if (refusal !== '') return refusal
    read.add(next)
    const found = objects.zone.answer(name, type)
    const last = found.kind === 'found' ? found.answers.at(-1) : undefined
    if (last?.type !== 'CNAME' || read.has(last.data) || read.size > MAX_ALIASES) return found
    next = last.data
  }
}

/** Why the zone answered that a name has no records of a type, in a sentence without a final dot. */
function explainDenial(name: string, type: QueryType, objects: ClusterObjects): string {
  const part = zoneNameOf(name, objects.domain)
  switch (part.kind) {
    case 'outside':
      return 'the address has a name, of type PTR alone'
    case 'zone':
      return explainBranch(part.branch, objects.domain)
    case 'namespace':
      return explainNamespace(part.namespace, objects)
    case 'service': {
      const service = objects.service(part.key)
      if (service === undefined) return explainMissing(part, objects)
      return explainService(service, part.below, type, objects)
    }
  }
}

function explainBranch(branch: string, domain: string): string {
  switch (branch) {
    case '':
    case 'svc':
    case 'dns':
    case 'dns-version':
      return 'the name belongs to the zone itself, without records of this type'
    case 'pod':
      return `Pods have no names of their own; those of a headless Service have names below it`
    default:
      return `names of Services end with svc.${domain}`
  }
}

function explainNamespace(namespace: string, objects: ClusterObjects): string {
  const names = objects.serviceNames(namespace)
  return names.length === 0
    ? `there is no namespace ${namespace} with Services`
    : `${namespace} is a namespace; a name in it begins with that of a Service: ${list(names)}`
}

function explainMissing(
  { namespace, service }: Extract<ZoneName, { kind: 'service' }>,
  objects: ClusterObjects,
): string {
  const missing = `there is no Service ${service} in namespace ${namespace}`
  const names = objects.serviceNames(namespace)
  if (names.length === 0) return `${missing}, which has no Services`
  const meant = nearest(service, names)
  return meant === undefined ? `${missing}; it has ${list(names)}` : `${missing}; near: ${meant}`
}

function explainService(
  service: Service,
  below: readonly string[],
  type: QueryType,
  objects: ClusterObjects,
): string {
  const { key, clusterIPs } = service
  if (service.type === 'ExternalName') {
    return service.externalName === undefined
      ? `Service ${key} is of type ExternalName without a usable externalName`
      : `Service ${key} is of type ExternalName, which has no names below it`
  }
  if (clusterIPs.length === 0) return explainHeadless(service, below, type, objects)
  const isPort = below.length > 0 || type === 'SRV'
  if (isPort) return explainPorts(service, below, type)
  if (type !== 'A' && type !== 'AAAA') return `Service ${key} has records of A, AAAA and SRV alone`
  const family = type === 'A' ? 'IPv4' : 'IPv6'
  return `Service ${key} has no ${family} address; it has ${clusterIPs.join(', ')}`
}

function explainPorts({ key, ports }: Service, below: readonly string[], type: QueryType): string {
  const queried = portQuery(below)
  if (queried === undefined) {
    return `Service ${key} has a cluster IP, so its endpoints have no names; those of headless Services have`
  }
  if (type !== 'SRV' && ports.some((port) => isPortQueried(port, queried))) return PORT_TYPES
  const named = ports.filter(({ name }) => name !== '')
  const has = named.map(({ name, protocol }) => `_${name}._${protocol.toLowerCase()}`)
  return has.length === 0
    ? `the port of Service ${key} has no name, so it has no record of its own`
    : `Service ${key} has no such port; it has ${has.join(', ')}`
}

function list(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_NAMES).join(', ')
  const more = names.length - SHOWN_NAMES
  return more > 0 ? `${shown} and ${more} more` : shown
}

/** Why a headless Service has no records of a type at its name, or at one below it. */
function explainHeadless(
  service: Service,
  below: readonly string[],
  type: QueryType,
  objects: ClusterObjects,
): string {
  const all = objects.factsOf(service.key)
  const named = all.filter(({ isReady }) => isReady || service.publishNotReadyAddresses)
  const who = `headless Service ${service.key}`
  if (named.length === 0) return explainNone(who, all)
  const queried = portQuery(below)
  if (queried !== undefined && (below.length > 0 || type === 'SRV')) {
    const hasPort = service.ports.some((port) => isPortQueried(port, queried))
    return type !== 'SRV' && hasPort ? PORT_TYPES : `${who} has no endpoint with such a port`
  }
  const [label, ...rest] = below
  if (rest.length > 0) return `${who} has names of one label below it`
  const matching = label === undefined ? named : named.filter((one) => labelOf(one) === label)
  if (matching.length === 0) return explainLabel(who, label ?? '', all, named)
  if (type !== 'A' && type !== 'AAAA') return `${who} has records of A, AAAA and SRV alone`
  const addresses = matching.filter(({ ip }) => addressType(ip) !== type)
  const family = type === 'A' ? 'IPv4' : 'IPv6'
  return `${who} has no endpoint with an ${family} address; it has ${listed(addresses)}`
}

function explainNone(who: string, all: readonly EndpointFact[]): string {
  if (all.length === 0)
    return `${who} has no endpoints: no Pod matches its selector, or none has an address`
  return `${who} has no ready endpoint, and publishNotReadyAddresses is not set; not ready: ${listed(all)}`
}

function explainLabel(
  who: string,
  label: string,
  all: readonly EndpointFact[],
  named: readonly EndpointFact[],
): string {
  const asleep = all.find((one) => !one.isReady && labelOf(one) === label)
  if (asleep !== undefined) {
    return `the endpoint ${label} of ${who} is not ready: ${listed([asleep])}; publishNotReadyAddresses is not set`
  }
  const labels = [...new Set(named.map(labelOf))]
  const more = labels.length > SHOWN ? ` and ${labels.length - SHOWN} more` : ''
  return `${who} has no endpoint named ${label}; it has ${labels.slice(0, SHOWN).join(', ')}${more}`
}

/** `10.0.0.7 (Pod shop/db-0, terminating)` */
function listed(facts: readonly EndpointFact[]): string {
  const texts = facts.slice(0, SHOWN).map(({ ip, pod, isTerminating }) => {
    const words = [pod === '' ? '' : `Pod ${pod}`, isTerminating ? 'terminating' : '']
    const inside = words.filter((word) => word !== '').join(', ')
    return inside === '' ? ip : `${ip} (${inside})`
  })
  const more = facts.length - SHOWN
  return `${texts.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** The record with the object that it comes from. */
function shownRecord(record: ZoneRecord, objects: ClusterObjects): ShownRecord {
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
    kind: 'Service',
    name: service.key,
    field,
    pod: '',
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

/** Whether a record of a headless Service comes from this endpoint. */
function isOf(fact: EndpointFact, record: ZoneRecord, below: readonly string[]): boolean {
  if (record.type === 'A' || record.type === 'AAAA') return fact.ip === record.data
  const label = record.type === 'SRV' ? record.data.target.split('.')[0] : below[0]
  return label === labelOf(fact)
}

/** The label of an endpoint below the name of its Service. */
function labelOf({ hostname, ip }: EndpointFact): string {
  return hostname === '' ? dashedAddress(ip) : hostname
}
