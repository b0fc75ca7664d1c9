import type { JsonObject } from '../../lib/json.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject, ServicePortObject } from '../objects/service-object.ts'
import { isHeadless } from '../objects/service-object.ts'

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
