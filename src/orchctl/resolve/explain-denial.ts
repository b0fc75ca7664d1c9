import { isPortQueried, portQuery } from '../../dns/zone/port-query.ts'
import { nearest } from '../../lib/nearest.ts'
import type { Service } from '../../resources/types.ts'
import type { ClusterObjects } from './cluster-objects.ts'
import { explainHeadless, PORT_TYPES } from './explain-headless.ts'
import type { QueryType } from './question.ts'
import { type ZoneName, zoneNameOf } from './zone-name.ts'

/** Names of Services that are shown where none is near. */
const SHOWN_NAMES = 5

/** Why the zone has no records of a type at a name, in a sentence without a final dot. The zone denied it. */
export function explainDenial(name: string, type: QueryType, objects: ClusterObjects): string {
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
