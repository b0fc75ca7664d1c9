import type { JsonObject } from '../../lib/json.ts'
import type { Candidate } from '../backends/candidate.ts'
import { candidatesOf, hostnameOf, targetOf } from '../backends/candidate.ts'
import { portsKey } from '../backends/endpoint-ports.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import type { WantedEndpoint, WantedGroup } from './slice-packing.ts'
import { endpointId } from './slice-packing.ts'
import { ADDRESS_TYPES, type WantedSlices } from './slice-writes.ts'

/** The zone of a node; empty when unknown. */
export type ZoneOf = (nodeName: string) => string

/** A slice without endpoints says: we have looked, and there are none. */
const NOBODY: WantedGroup = { ports: [], endpoints: [] }

/**
 * The endpoints of a Service, for each of its IP families and by the ports they
 * have. Pods that are being deleted stay until they are gone: nodes may want
 * to let them finish (KEP-1672).
 */
export function serviceSlices(
  service: ServiceObject,
  pods: readonly PodObject[],
  zoneOf: ZoneOf,
): WantedSlices {
  return new Map(
    service.families.map((family) => {
      const candidates = candidatesOf(service, pods, family).toSorted(byAddress)
      const groups = Map.groupBy(candidates, ({ ports }) => portsKey(ports))
      const wanted = [...groups.values()].map((group) => groupOf(group, service, zoneOf))
      return [ADDRESS_TYPES[family], wanted.length === 0 ? [NOBODY] : wanted]
    }),
  )
}

function groupOf(group: readonly Candidate[], service: ServiceObject, zoneOf: ZoneOf): WantedGroup {
  const endpoints = group.map((candidate): WantedEndpoint => {
    const body = endpointOf(candidate, service, zoneOf)
    return { id: endpointId(body), body, since: candidate.since }
  })
  return { ports: group[0]?.ports ?? [], endpoints }
}

function endpointOf({ pod, ip }: Candidate, service: ServiceObject, zoneOf: ZoneOf): JsonObject {
  const { ready: serving, terminating, nodeName } = pod
  const hostname = hostnameOf(pod, service)
  const zone = zoneOf(nodeName)
  const ready = service.publishNotReady || (serving && !terminating)
  return {
    addresses: [ip],
    conditions: { ready, serving, terminating },
    ...(hostname === '' ? {} : { hostname }),
    ...(nodeName === '' ? {} : { nodeName }),
    ...(zone === '' ? {} : { zone }),
    targetRef: targetOf(pod),
  }
}

function byAddress(a: Candidate, b: Candidate): number {
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1
  return a.pod.meta.uid < b.pod.meta.uid ? -1 : 1
}
