import type { IpAddress } from '../../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  stringAt,
  stringsAt,
  valueAt,
} from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { DISRUPTION, READY } from '../../resources/label-names.ts'
import { readCondition, type StatusCondition } from '../../resources/status-condition.ts'
import { type ObjectMeta, readMeta } from './object-meta.ts'

/** The field of a node affinity that decides where the Pod may be. */
export const REQUIRED_AFFINITY = 'requiredDuringSchedulingIgnoredDuringExecution'

/** An entry of `ports` of a container. */
export interface ContainerPort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

/** The fields of a Pod that controllers read. */
export interface PodObject {
  readonly meta: ObjectMeta
  /** `status.podIPs` in its order and in canonical text; `status.podIP` where there is no `podIPs`. */
  readonly ips: readonly IpAddress[]
  /** `spec.nodeName`; empty while the Pod is not scheduled. */
  readonly nodeName: string
  /** The node that its required node affinity names, as Pods of DaemonSets have it; empty: none, or not just one. */
  readonly wantedNode: string
  readonly hostname: string
  readonly subdomain: string
  /** `status.phase`: Pending, Running, Succeeded, Failed or Unknown; empty where it is absent. */
  readonly phase: string
  /** How often its containers were started again: the most of any container. */
  readonly restarts: number
  /** Its phase is Succeeded or Failed: its containers have ended and never start again. */
  readonly finished: boolean
  /** `deletionTimestamp`, when its grace period ends, RFC 3339; empty when it is not being deleted. */
  readonly graceEndsAt: string
  /** `deletionGracePeriodSeconds`; 0 when it has none, or is not being deleted. */
  readonly graceSeconds: number
  /** Whether `readiness` is True. */
  readonly ready: boolean
  /** The condition `Ready`. */
  readonly readiness: StatusCondition
  /** The condition `DisruptionTarget`: a component of the cluster is about to delete the Pod. */
  readonly disruption: StatusCondition
  /** Ports with a name: of containers, then of sidecars (init containers with `restartPolicy: Always`). */
  readonly namedPorts: readonly ContainerPort[]
}

/** Reads a Pod as the API server sent it; see `readMeta` for missing fields. */
export function readPod(object: JsonObject): PodObject {
  const [spec, status] = [objectAt(object, 'spec'), objectAt(object, 'status')]
  const phase = stringAt(status, 'phase')
  const readiness = readCondition(status, READY)
  return {
    meta: readMeta(object),
    ips: readIps(status),
    nodeName: stringAt(spec, 'nodeName'),
    wantedNode: readWantedNode(spec),
    hostname: stringAt(spec, 'hostname'),
    subdomain: stringAt(spec, 'subdomain'),
    phase,
    restarts: readRestarts(status),
    finished: phase === 'Succeeded' || phase === 'Failed',
    graceEndsAt: stringAt(object, 'metadata', 'deletionTimestamp'),
    graceSeconds: Number(valueAt(object, 'metadata', 'deletionGracePeriodSeconds') ?? 0),
    ready: readiness.status === 'True',
    readiness,
    disruption: readCondition(status, DISRUPTION),
    namedPorts: readNamedPorts(spec),
  }
}

function readRestarts(status: JsonObject): number {
  const counts = arrayAt(status, 'containerStatuses').map((one) =>
    Number(valueAt(one, 'restartCount') ?? 0),
  )
  return Math.max(0, ...counts)
}

function readWantedNode(spec: JsonObject): string {
  const required = valueAt(spec, 'affinity', 'nodeAffinity', REQUIRED_AFFINITY)
  const names = arrayAt(required, 'nodeSelectorTerms')
    .flatMap((term) => arrayAt(term, 'matchFields'))
    .filter((one) => stringAt(one, 'key') === 'metadata.name')
    .filter((one) => stringAt(one, 'operator') === 'In')
    .map((one) => stringsAt(one, 'values'))
  return names.find(({ length }) => length === 1)?.[0] ?? ''
}

function readIps(status: JsonObject): readonly IpAddress[] {
  const listed = arrayAt(status, 'podIPs').map((one) => stringAt(one, 'ip'))
  const texts = listed.length > 0 ? listed : [stringAt(status, 'podIP')]
  return texts.map(parseLegacyIp).filter((ip) => ip !== undefined)
}

function readNamedPorts(spec: JsonObject): readonly ContainerPort[] {
  const sidecars = arrayAt(spec, 'initContainers').filter(
    (container) => stringAt(container, 'restartPolicy') === 'Always',
  )
  return [...arrayAt(spec, 'containers'), ...sidecars]
    .flatMap((container) => arrayAt(container, 'ports'))
    .filter(isJsonObject)
    .map((port) => ({
      name: stringAt(port, 'name'),
      protocol: stringAt(port, 'protocol') || 'TCP',
      port: Number(valueAt(port, 'containerPort')),
    }))
    .filter(({ name }) => name !== '')
}
