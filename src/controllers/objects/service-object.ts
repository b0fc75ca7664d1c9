import { type Family, familyOf } from '../../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
  valueAt,
} from '../../lib/json.ts'
import { canonicalAddress, parseLegacyIp } from '../../lib/legacy-address.ts'
import { LOAD_BALANCER_CONDITION, TOPOLOGY_CONDITION } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { readCondition, type StatusCondition } from '../../resources/status-condition.ts'
import { type ObjectMeta, readMeta, readStrings, type StringMap } from './object-meta.ts'

/** An entry of `spec.ports`. */
export interface ServicePortObject {
  /** Empty when the port has no name. */
  readonly name: string
  readonly protocol: string
  readonly port: number
  /** A number, or the name of a container's port; `port` where the field is absent. */
  readonly targetPort: number | string
  readonly appProtocol: string | undefined
}

/** The fields of a Service that controllers read. */
export interface ServiceObject {
  readonly meta: ObjectMeta
  /** `spec.selector`; undefined when empty: another program writes the endpoints of the Service. */
  readonly selector: StringMap | undefined
  /** Whether the Service is of type ExternalName: it is a DNS name without endpoints. */
  readonly isExternalName: boolean
  /** `spec.clusterIP`; see `isHeadless`. */
  readonly clusterIP: string
  /** `spec.ipFamilies` in its order, each once; without the field the family of `spec.clusterIP`, else IPv4. */
  readonly families: readonly Family[]
  readonly ports: readonly ServicePortObject[]
  readonly publishNotReadyAddresses: boolean
  readonly loadBalancer: LoadBalancerObject
  /** The rule by which its endpoints get topology hints; undefined: they get none. */
  readonly distribution: TrafficDistribution | undefined
  /** The condition `orch.io/TopologyAwareHints`: whether the requested hints could be written. */
  readonly topologyCondition: StatusCondition
}

/** Reads a Service as the API server sent it; see `readMeta` for missing fields. */
export function readService(object: JsonObject): ServiceObject {
  const spec = objectAt(object, 'spec')
  const selector = readStrings(objectAt(spec, 'selector'))
  const meta = readMeta(object)
  return {
    meta,
    selector: Object.keys(selector).length === 0 ? undefined : selector,
    isExternalName: stringAt(spec, 'type') === 'ExternalName',
    clusterIP: stringAt(spec, 'clusterIP'),
    families: readFamilies(spec),
    ports: arrayAt(spec, 'ports').filter(isJsonObject).map(readPort),
    publishNotReadyAddresses: valueAt(spec, 'publishNotReadyAddresses') === true,
    loadBalancer: readLoadBalancer(object),
    distribution: readTrafficDistribution(meta.annotations, stringAt(spec, 'trafficDistribution')),
    topologyCondition: readCondition(objectAt(object, 'status'), TOPOLOGY_CONDITION),
  }
}

/** Whether the Service has no ClusterIP: `spec.clusterIP` is `None`, or empty. */
export function isHeadless({ clusterIP }: ServiceObject): boolean {
  return clusterIP === '' || clusterIP === 'None'
}

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

/** The fields of a Service about load balancers. */
interface LoadBalancerObject {
  /** Whether the Service is of type LoadBalancer. */
  readonly isRequested: boolean
  /** `spec.loadBalancerClass`; empty when any controller may serve it. */
  readonly className: string
  /** The addresses that it requests, as texts; empty when any will do. */
  readonly requestedIPs: readonly string[]
  /** What requests them: the key of an annotation, or `spec.loadBalancerIP`. */
  readonly requestField: string
  /** The name of the pool that it chooses; empty when any will do. */
  readonly poolName: string
  /** The annotation by which Services share an address; empty when the Service shares none. */
  readonly sharingKey: string
  /** Whether `spec.externalTrafficPolicy` is Local. */
  readonly isLocal: boolean
  /** Whether `spec.ipFamilyPolicy` requires an address of each family. */
  readonly requiresFamilies: boolean
  /** `ip` of each `status.loadBalancer.ingress`, in canonical text; empty for one with a host name only. */
  readonly ingress: readonly string[]
  /** The condition `orch.io/LoadBalancerAddress`: whether the Service has the addresses that it requests. */
  readonly condition: StatusCondition
}

/** Reads a Service as the API server sent it; see `readMeta` for missing fields. */
function readLoadBalancer(service: JsonObject): LoadBalancerObject {
  const text = ([key]: readonly [string]): string =>
    stringAt(service, 'metadata', 'annotations', key).trim()
  return {
    isRequested: stringAt(service, 'spec', 'type') === 'LoadBalancer',
    className: stringAt(service, 'spec', 'loadBalancerClass'),
    ...readRequest(text(NAMES.loadBalancerIPs), stringAt(service, 'spec', 'loadBalancerIP')),
    poolName: text(NAMES.loadBalancerPool),
    sharingKey: text(NAMES.sharingKey),
    isLocal: stringAt(service, 'spec', 'externalTrafficPolicy') === 'Local',
    requiresFamilies: stringAt(service, 'spec', 'ipFamilyPolicy') === 'RequireDualStack',
    ingress: arrayAt(service, 'status', 'loadBalancer', 'ingress')
      .map((one) => stringAt(one, 'ip'))
      .map(canonicalAddress),
    condition: readCondition(objectAt(service, 'status'), LOAD_BALANCER_CONDITION),
  }
}

/** The annotation, which can name an address of each family, takes precedence. */
function readRequest(
  annotation: string,
  field: string,
): Pick<LoadBalancerObject, 'requestedIPs' | 'requestField'> {
  if (annotation === '') {
    return { requestedIPs: field === '' ? [] : [field], requestField: 'spec.loadBalancerIP' }
  }
  const requestedIPs = annotation.split(',').map((one) => one.trim())
  return { requestedIPs, requestField: NAMES.loadBalancerIPs[0] }
}

/**
 * The rule by which the endpoints of a Service get topology hints. `Auto`: each zone is served by endpoints in
 * proportion to its processors; `SameZone`: an endpoint serves the clients of its own zone; `SameNode`: it has a
 * hint for its node as well.
 */
export type TrafficDistribution = 'Auto' | 'SameZone' | 'SameNode'

/** The rule of each value of `spec.trafficDistribution`. */
const RULES: ReadonlyMap<string, TrafficDistribution> = new Map([
  ['PreferClose', 'SameZone'],
  ['PreferSameZone', 'SameZone'],
  ['PreferSameNode', 'SameNode'],
])

/**
 * Reads the annotation `topology-mode` and `field`, which is `spec.trafficDistribution`. Of the names of the
 * annotation (`NAMES.topologyMode`) the first that the Service has counts. With the value `auto` or `Auto` it takes
 * precedence, as in Kubernetes; with any other value, the field decides. Undefined for a field that is empty or
 * unknown.
 */
export function readTrafficDistribution(
  annotations: StringMap,
  field: string,
): TrafficDistribution | undefined {
  const name = NAMES.topologyMode.find((one) => Object.hasOwn(annotations, one))
  const mode = name === undefined ? '' : annotations[name]
  return mode === 'auto' || mode === 'Auto' ? 'Auto' : RULES.get(field)
}
