import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { HEADLESS } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import type { PodObject } from '../objects/pod-object.ts'
import { isHeadless, type ServiceObject } from '../objects/service-object.ts'
import { type StringMap, withoutKeys } from '../objects/string-map.ts'
import { endpointPorts } from './endpoint-ports.ts'

/** A Pod that can be an endpoint of a Service in one IP family. */
export interface Candidate {
  readonly pod: PodObject
  /** Its address of the family. */
  readonly ip: IpAddress
  /** As `endpointPorts` returns them. */
  readonly ports: readonly JsonObject[]
  /**
   * When its readiness last changed, or the Service was created if that was later; RFC 3339, empty when the Pod
   * has no condition `Ready`.
   */
  readonly changedAt: string
}

/**
 * The Pods that have an address of the family and at least one port of the Service, without Succeeded and
 * Failed ones: these never serve, not even with `publishNotReadyAddresses`.
 */
export function candidatesOf(
  service: ServiceObject,
  pods: readonly PodObject[],
  family: Family,
): readonly Candidate[] {
  return pods.flatMap((pod) => {
    const ip = pod.ips.find((one) => familyOf(one) === family)
    const ports = endpointPorts(service, pod)
    if (ip === undefined || pod.finished || ports === undefined) return []
    const changedAt = laterTime(pod.readiness.lastTransitionTime, service.meta.createdAt)
    return [{ pod, ip, ports, changedAt }]
  })
}

/** The field `hostname` of an endpoint; empty unless the subdomain of the Pod is the name of the Service. */
export function hostnameOf({ hostname, subdomain }: PodObject, service: ServiceObject): string {
  return subdomain === service.meta.name ? hostname : ''
}

/** The field `targetRef` of an endpoint: a reference to the Pod. */
export function targetRefOf({ meta }: PodObject): JsonObject {
  return { kind: 'Pod', namespace: meta.namespace, name: meta.name, uid: meta.uid }
}

function laterTime(a: string, b: string): string {
  return Date.parse(a) < Date.parse(b) ? b : a
}

/**
 * The labels of the Endpoints and slices of a Service: its own, but the headless label only if it has no ClusterIP.
 * A label of that name on the Service is not copied, because service proxies ignore slices with it.
 */
export function serviceLabels(service: ServiceObject): StringMap {
  return {
    ...withoutKeys(service.meta.labels, ...NAMES.headless),
    ...(isHeadless(service) ? { [HEADLESS]: '' } : {}),
  }
}
