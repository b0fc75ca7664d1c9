import type { JsonObject } from '../../lib/json.ts'
import type { Candidate } from '../backends/candidate.ts'
import { candidatesOf, hostnameOf, targetOf } from '../backends/candidate.ts'
import { portsKey } from '../backends/endpoint-ports.ts'
import type { PodObject } from '../objects/pod-object.ts'
import type { ServiceObject } from '../objects/service-object.ts'

/** One Pod in the Endpoints of a Service. */
export interface Member extends Candidate {
  readonly ready: boolean
}

/** What the Endpoints object of a Service may hold in all its subsets together. */
const MAX_ADDRESSES = 1000

/**
 * The Pods that belong into a Service's Endpoints, those that are ready first,
 * then by address: of its first IP family, and without those that are being
 * deleted unless the Service publishes whatever there is.
 */
export function membersOf(service: ServiceObject, pods: readonly PodObject[]): readonly Member[] {
  const [family = 4] = service.families
  return candidatesOf(service, pods, family)
    .filter(({ pod }) => service.publishNotReady || !pod.terminating)
    .map((one) => ({ ...one, ready: service.publishNotReady || one.pod.ready }))
    .toSorted(byReadinessAndAddress)
}

/** The first thousand, and whether there were more. */
export function truncate(members: readonly Member[]): {
  readonly members: readonly Member[]
  readonly truncated: boolean
} {
  return { members: members.slice(0, MAX_ADDRESSES), truncated: members.length > MAX_ADDRESSES }
}

/** One subset for each set of ports, in canonical order. */
export function subsetsOf(service: ServiceObject, members: readonly Member[]): JsonObject[] {
  const groups = Map.groupBy(members, ({ ports }) => portsKey(ports))
  return [...groups]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([, group]) => subsetOf(service, group))
}

function subsetOf(service: ServiceObject, group: readonly Member[]): JsonObject {
  const [ready, waiting] = [true, false].map((wanted) =>
    group.filter((one) => one.ready === wanted).map((one) => addressOf(service, one)),
  )
  return {
    ...(ready?.length ? { addresses: ready } : {}),
    ...(waiting?.length ? { notReadyAddresses: waiting } : {}),
    ...(group[0]?.ports.length ? { ports: group[0].ports.map(withoutEmptyName) } : {}),
  }
}

function addressOf(service: ServiceObject, { pod, ip }: Member): JsonObject {
  const hostname = hostnameOf(pod, service)
  return {
    ip,
    ...(hostname === '' ? {} : { hostname }),
    ...(pod.nodeName === '' ? {} : { nodeName: pod.nodeName }),
    targetRef: targetOf(pod),
  }
}

function withoutEmptyName({ name, ...port }: JsonObject): JsonObject {
  return name === undefined || name === '' ? port : { name, ...port }
}

function byReadinessAndAddress(a: Member, b: Member): number {
  if (a.ready !== b.ready) return a.ready ? -1 : 1
  if (a.ip !== b.ip) return a.ip < b.ip ? -1 : 1
  return a.pod.meta.uid < b.pod.meta.uid ? -1 : 1
}
