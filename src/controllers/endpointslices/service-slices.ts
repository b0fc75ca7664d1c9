import type { JsonObject } from '../../lib/json.ts'
import type { Candidate } from '../backends/candidate.ts'
import { candidatesOf, hostnameOf, targetRefOf } from '../backends/candidate.ts'
import { portsKey } from '../backends/endpoint-ports.ts'
import type { ZoneCapacity } from '../cache/zone-capacity.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import type { WantedEndpoint, WantedGroup } from '../slices/slice-packing.ts'
import { endpointId } from '../slices/slice-packing.ts'
import { ADDRESS_TYPES, type WantedSlices } from '../slices/slice-writes.ts'
import { addHints } from './topology/add-hints.ts'
import type { HintsProblem } from './topology/zone-hints.ts'

/** The zone of a node; empty when unknown. */
export type ZoneOf = (nodeName: string) => string

/** A slice without endpoints shows that the controller has run and found none. */
const EMPTY_GROUP: WantedGroup = { ports: [], endpoints: [] }

/** The facts about Nodes on which endpoints depend. */
export interface Placement {
  readonly zoneOf: ZoneOf
  readonly capacity: ZoneCapacity
}

/** The endpoints for the slices of a Service. */
export interface ServiceSlices {
  readonly wanted: WantedSlices
  /** Why an address type has no hints although an annotation requests them. */
  readonly problem: HintsProblem | undefined
}

interface PortedEndpoint extends WantedEndpoint {
  readonly ports: readonly JsonObject[]
}

/**
 * The endpoints of a Service, for each of its IP families and by the ports they
 * have. Pods that are being deleted stay until they are gone: nodes may let
 * their connections end (KEP-1672). Hints are distributed over all endpoints of a family.
 */
export function serviceSlices(
  service: ServiceObject,
  pods: readonly PodObject[],
  { zoneOf, capacity }: Placement,
): ServiceSlices {
  const families = service.families.map((family) => {
    const candidates = candidatesOf(service, pods, family).toSorted(byAddress)
    const found = candidates.map((candidate): PortedEndpoint => {
      const body = endpointOf(candidate, service, zoneOf)
      return { id: endpointId(body), body, changedAt: candidate.changedAt, ports: candidate.ports }
    })
    return {
      addressType: ADDRESS_TYPES[family],
      ...addHints(found, service.distribution, capacity),
    }
  })
  const wanted = families.map(({ addressType, endpoints }) => {
    const groups = [...Map.groupBy(endpoints, ({ ports }) => portsKey(ports)).values()].map(groupOf)
    return [addressType, groups.length === 0 ? [EMPTY_GROUP] : groups] as const
  })
  const problems = families.flatMap(({ addressType, problem }) =>
    problem === undefined ? [] : { ...problem, detail: `${addressType}, ${problem.detail}` },
  )
  return { wanted: new Map(wanted), problem: problems[0] }
}

function groupOf(endpoints: readonly PortedEndpoint[]): WantedGroup {
  return { ports: endpoints[0]?.ports ?? [], endpoints }
}

function endpointOf({ pod, ip }: Candidate, service: ServiceObject, zoneOf: ZoneOf): JsonObject {
  const { ready: serving, nodeName } = pod
  const { terminating } = pod.meta
  const hostname = hostnameOf(pod, service)
  const zone = zoneOf(nodeName)
  const ready = service.publishNotReadyAddresses || (serving && !terminating)
  return {
    addresses: [ip],
    conditions: { ready, serving, terminating },
    ...(hostname === '' ? {} : { hostname }),
    ...(nodeName === '' ? {} : { nodeName }),
    ...(zone === '' ? {} : { zone }),
    targetRef: targetRefOf(pod),
  }
}

function byAddress(a: Candidate, b: Candidate): number {
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1
  return a.pod.meta.uid < b.pod.meta.uid ? -1 : 1
}
