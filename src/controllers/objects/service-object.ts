import type { Family } from '../../lib/ip.ts'
import { familyOf } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { TOPOLOGY_CONDITION } from '../../resources/condition-names.ts'
import { readCondition, type StatusCondition } from '../../resources/status-condition.ts'
import { type Distribution, readDistribution } from './distribution.ts'
import type { LoadBalancerObject } from './load-balancer-object.ts'
import { readLoadBalancer } from './load-balancer-object.ts'
import type { ObjectMeta, StringMap } from './object-meta.ts'
import { readMeta, readStrings } from './object-meta.ts'

export interface ServicePortObject {
  /** Empty when the only port has no name. */
  readonly name: string
  readonly protocol: string
  readonly port: number
  /** A number, or the name of a container's port. */
  readonly targetPort: number | string
  readonly appProtocol: string | undefined
}

/** What controllers need to know of a Service. */
export interface ServiceObject {
  readonly meta: ObjectMeta
  /** Undefined: another program writes its endpoints. */
  readonly selector: StringMap | undefined
  /** An ExternalName Service is a name and has no endpoints at all. */
  readonly externalName: boolean
  /** Empty or `None` for a headless Service. */
  readonly clusterIP: string
  readonly families: readonly Family[]
  readonly ports: readonly ServicePortObject[]
  readonly publishNotReady: boolean
  readonly loadBalancer: LoadBalancerObject
  /** Which hints its endpoints carry; undefined: none. */
  readonly distribution: Distribution | undefined
  /** Whether the hints that an annotation requests could be written. */
  readonly topologyCondition: StatusCondition
}

export function readService(object: JsonObject): ServiceObject {
  const spec = objectAt(object, 'spec')
  const selector = readStrings(objectAt(spec, 'selector'))
  const meta = readMeta(object)
  return {
    meta,
    selector: Object.keys(selector).length === 0 ? undefined : selector,
    externalName: stringAt(spec, 'type') === 'ExternalName',
    clusterIP: stringAt(spec, 'clusterIP'),
    families: readFamilies(spec),
    ports: arrayAt(spec, 'ports').filter(isJsonObject).map(readPort),
    publishNotReady: valueAt(spec, 'publishNotReadyAddresses') === true,
    loadBalancer: readLoadBalancer(object),
    distribution: readDistribution(meta.annotations, stringAt(spec, 'trafficDistribution')),
    topologyCondition: readCondition(objectAt(object, 'status'), TOPOLOGY_CONDITION),
  }
}

export function isHeadless({ clusterIP }: ServiceObject): boolean {
  return clusterIP === '' || clusterIP === 'None'
}

/** `spec.ipFamilies`; of a Service from before there were any, the family of its address. */
function readFamilies(spec: JsonObject): readonly Family[] {
  const given = arrayAt(spec, 'ipFamilies').flatMap((family): readonly Family[] => {
    if (family === 'IPv4') return [4]
    return family === 'IPv6' ? [6] : []
  })
  if (given.length > 0) return [...new Set(given)]
  const ip = parseLegacyIp(stringAt(spec, 'clusterIP'))
  return [ip === undefined ? 4 : familyOf(ip)]
}

function readPort(port: JsonObject): ServicePortObject {
  const number = Number(valueAt(port, 'port'))
  const target = valueAt(port, 'targetPort')
  return {
    name: stringAt(port, 'name'),
    protocol: stringAt(port, 'protocol') || 'TCP',
    port: number,
    targetPort:
      (typeof target === 'number' || typeof target === 'string') && target ? target : number,
    appProtocol: stringAt(port, 'appProtocol') || undefined,
  }
}
