import type { JsonObject } from '../../lib/json.ts'
import type { Candidate } from '../backends/candidate.ts'
import { candidatesOf, hostnameOf, targetRefOf } from '../backends/candidate.ts'
import { portsKey } from '../backends/endpoint-ports.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'

/** One address in the Endpoints of a Service: a Pod, with the list of a subset that it belongs to. */
export interface EndpointAddress extends Candidate {
  /** In `addresses`; false: in `notReadyAddresses`. */
  readonly ready: boolean
}

/** Addresses in all subsets of one Endpoints object together, as in Kubernetes. */
export const MAX_ADDRESSES = 1000

/**
 * The Pods that belong into a Service's Endpoints, by their address of the Service's first IP family. Pods
 * that are being deleted are left out; with `publishNotReadyAddresses` they stay, and every Pod counts as
 * ready. The ready ones come first, then the address decides, compared as text.
 */
export function endpointAddresses(
  service: ServiceObject,
  pods: readonly PodObject[],
): readonly EndpointAddress[] {
  const [family = 4] = service.families
  return candidatesOf(service, pods, family)
    .filter(({ pod }) => service.publishNotReadyAddresses || !pod.meta.terminating)
    .map((one) => ({ ...one, ready: service.publishNotReadyAddresses || one.pod.ready }))
    .toSorted(byReadinessAndAddress)
}

/** One subset for each set of ports, sorted by `portsKey`. */
export function subsetsOf(
  service: ServiceObject,
  addresses: readonly EndpointAddress[],
): JsonObject[] {
  const groups = Map.groupBy(addresses, ({ ports }) => portsKey(ports))
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => subsetOf(service, group))
}

function subsetOf(service: ServiceObject, group: readonly EndpointAddress[]): JsonObject {
  const [ready, notReady] = [true, false].map((isReady) =>
    group.filter((one) => one.ready === isReady).map((one) => addressOf(service, one)),
  )
  return {
    ...(ready?.length ? { addresses: ready } : {}),
    ...(notReady?.length ? { notReadyAddresses: notReady } : {}),
    ...(group[0]?.ports.length ? { ports: group[0].ports.map(withoutEmptyName) } : {}),
  }
}

function addressOf(service: ServiceObject, { pod, ip }: EndpointAddress): JsonObject {
  const hostname = hostnameOf(pod, service)
  return {
    ip,
    ...(hostname === '' ? {} : { hostname }),
    ...(pod.nodeName === '' ? {} : { nodeName: pod.nodeName }),
    targetRef: targetRefOf(pod),
  }
}

function withoutEmptyName({ name, ...port }: JsonObject): JsonObject {
  return name === undefined || name === '' ? port : { name, ...port }
}

function byReadinessAndAddress(a: EndpointAddress, b: EndpointAddress): number {
  if (a.ready !== b.ready) return a.ready ? -1 : 1
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1
  return a.pod.meta.uid < b.pod.meta.uid ? -1 : 1
}
