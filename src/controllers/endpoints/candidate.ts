import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { HEADLESS, TRIGGER_TIME } from '../../resources/label-names.ts'
import { NAMES } from '../../resources/names.ts'
import { type StringMap, withoutKeys } from '../objects/object-meta.ts'
import type { PodObject } from '../objects/pod-object.ts'
import {
  isHeadless,
  type ServiceObject,
  type ServicePortObject,
} from '../objects/service-object.ts'

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
 * Failed ones: these never serve, not even with `publishNotReadyAddresses`. Sorted by address as text.
 */
export function candidatesOf(
  service: ServiceObject,
  pods: readonly PodObject[],
  family: Family,
): readonly Candidate[] {
  const candidates = pods.flatMap((pod) => {
    const ip = pod.ips.find((one) => familyOf(one) === family)
    const ports = endpointPorts(service, pod)
    if (ip === undefined || pod.finished || ports === undefined) return []
    const changedAt = laterTime(pod.readiness.lastTransitionTime, service.meta.createdAt)
    return [{ pod, ip, ports, changedAt }]
  })
  return candidates.toSorted(byAddress)
}

function byAddress(a: Candidate, b: Candidate): number {
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1
  return a.pod.meta.uid < b.pod.meta.uid ? -1 : 1
}

/**
 * The fields `hostname` and `nodeName` of an endpoint, without those that are empty; a Pod has a host name only if its
 * subdomain is the name of the Service.
 */
export function hostOf(
  { hostname, subdomain, nodeName }: PodObject,
  service: ServiceObject,
): JsonObject {
  return {
    ...(hostname === '' || subdomain !== service.meta.name ? {} : { hostname }),
    ...(nodeName === '' ? {} : { nodeName }),
  }
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

/**
 * The ports on which a Pod serves a Service, in the form of EndpointSlices and in the order of `sortPorts`. A named
 * target port is looked up in the Pod by name and protocol, so its number may differ between Pods. A port that the Pod
 * does not have is left out. Undefined if the Pod has none of the ports, and for a Service with a ClusterIP but without
 * ports. Empty for a headless Service without ports, whose endpoints are addresses alone.
 */
export function endpointPorts(
  service: ServiceObject,
  pod: PodObject,
): readonly JsonObject[] | undefined {
  if (service.ports.length === 0) return isHeadless(service) ? [] : undefined
  const ports = service.ports.flatMap((port) => {
    const number = targetPort(port, pod)
    return number === undefined ? [] : [endpointPort(port, number)]
  })
  return ports.length === 0 ? undefined : sortPorts(ports)
}

/** Sorts ports into their canonical order: ascending by `portsKey`. */
export function sortPorts(ports: readonly JsonObject[]): JsonObject[] {
  return ports.toSorted((a, b) => (portsKey([a]) < portsKey([b]) ? -1 : 1))
}

/** Endpoints with equal keys share slices and subsets. Keys are equal if the lists are, with defaults filled in. */
export function portsKey(ports: readonly JsonObject[]): string {
  return JSON.stringify(
    ports.map(({ name, protocol, port, appProtocol }) => [
      name ?? '',
      protocol ?? 'TCP',
      port ?? null,
      appProtocol ?? '',
    ]),
  )
}

function targetPort(
  { targetPort, protocol }: ServicePortObject,
  pod: PodObject,
): number | undefined {
  if (typeof targetPort === 'number') return targetPort
  return pod.namedPorts.find((one) => one.name === targetPort && one.protocol === protocol)?.port
}

function endpointPort(
  { name, protocol, appProtocol }: ServicePortObject,
  port: number,
): JsonObject {
  return { name, protocol, port, ...(appProtocol === undefined ? {} : { appProtocol }) }
}

/**
 * The annotation `last-change-trigger-time`, from which service proxies measure their latency: the earliest of
 * the `times` (RFC 3339, empty when unknown) that is later than the one in the current `annotations`.
 * Undefined, which removes the annotation, when no time is later.
 */
export function triggerTime(times: readonly string[], annotations: StringMap): string | undefined {
  const written = Date.parse(annotations[TRIGGER_TIME] ?? '')
  const previous = Number.isNaN(written) ? Number.NEGATIVE_INFINITY : written
  const [earliest] = times
    .filter((time) => Date.parse(time) > previous)
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
  return earliest
}
