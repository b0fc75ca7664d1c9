import { isDeepEqual } from '../../lib/equal.ts'
import type { IpAddress } from '../../lib/ip.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
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
import { type Placement, readAntiAffinity, readPlacement } from './pod-placement.ts'
import type { PodTerm } from './requirements.ts'
import { type Resources, readRequests } from './resources.ts'

/** The field of a node affinity that decides where the Pod may be. */
export const REQUIRED_AFFINITY = 'requiredDuringSchedulingIgnoredDuringExecution'

/** An entry of `ports` of a container. */
export interface ContainerPort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

/** A port of its node that a Pod takes. */
export interface HostPort {
  /** `0.0.0.0`: at every address. */
  readonly ip: string
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
  /** The restarts of the container that was started again most often; init containers do not count. */
  readonly restarts: number
  /** How often its containers and init containers were started again, together. */
  readonly allRestarts: number
  /** Its phase is Succeeded or Failed: its containers have ended and never start again. */
  readonly finished: boolean
  /** When the last of its containers ended, or else when it stopped being ready, RFC 3339; empty until it has ended. */
  readonly endedAt: string
  /** `deletionTimestamp`, when its grace period ends, RFC 3339; empty when it is not being deleted. */
  readonly graceEndsAt: string
  /** `deletionGracePeriodSeconds`; 0 when it has none, or is not being deleted. */
  readonly graceSeconds: number
  /** Since when it has had its node, as the condition `PodScheduled` says, RFC 3339; empty where it does not. */
  readonly boundAt: string
  /** Whether `readiness` is True. */
  readonly ready: boolean
  /** The condition `Ready`. */
  readonly readiness: StatusCondition
  /** Since when it has been ready, in milliseconds since the epoch; 0: not known, undefined: it is not ready. */
  readonly readySince: number | undefined
  /** The condition `DisruptionTarget`: a component of the cluster is about to delete the Pod. */
  readonly disruption: StatusCondition
  /** Ports with a name: of containers, then of sidecars (init containers with `restartPolicy: Always`). */
  readonly namedPorts: readonly ContainerPort[]
  /** `spec.priority`: the greater, the sooner it is bound. */
  readonly priority: number
  /** What it takes of its node. */
  readonly requests: Resources
  readonly hostPorts: readonly HostPort[]
  /** `spec.tolerations`. */
  readonly tolerations: readonly Json[]
  /** Pods that must not run in the same place. */
  readonly antiAffinity: readonly PodTerm[]
  /** Where it may run; undefined: it has a node, has ended, or another scheduler binds it. */
  readonly placement: Placement | undefined
}

const SCHEDULER = 'default-scheduler'
const NO_PORTS: readonly HostPort[] = []
/** The tolerations of most Pods: none, or those that Kubernetes adds. Pods with the same ones share a list, which saves memory. */
const USUAL_TOLERATIONS: readonly (readonly Json[])[] = [
  [],
  ['not-ready', 'unreachable'].map((state) => ({
    key: `node.kubernetes.io/${state}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: 300,
  })),
]

/** Reads a Pod as the API server sent it; see `readMeta` for missing fields. */
export function readPod(object: JsonObject): PodObject {
  const [spec, status] = [objectAt(object, 'spec'), objectAt(object, 'status')]
  const phase = stringAt(status, 'phase')
  const readiness = readCondition(status, READY)
  const meta = readMeta(object)
  const nodeName = stringAt(spec, 'nodeName')
  const finished = phase === 'Succeeded' || phase === 'Failed'
  const isOurs = (stringAt(spec, 'schedulerName') || SCHEDULER) === SCHEDULER
  const restarts = readRestarts(status, 'containerStatuses')
  const initRestarts = readRestarts(status, 'initContainerStatuses')
  const isToBind = nodeName === '' && !finished && isOurs
  return {
    meta,
    ips: readIps(status),
    nodeName,
    wantedNode: readWantedNode(spec),
    hostname: stringAt(spec, 'hostname'),
    subdomain: stringAt(spec, 'subdomain'),
    phase,
    restarts: Math.max(0, ...restarts),
    allRestarts: [...restarts, ...initRestarts].reduce((sum, one) => sum + one, 0),
    finished,
    endedAt: finished ? readEndedAt(status) || readiness.lastTransitionTime : '',
    graceEndsAt: stringAt(object, 'metadata', 'deletionTimestamp'),
    graceSeconds: Number(valueAt(object, 'metadata', 'deletionGracePeriodSeconds') ?? 0),
    boundAt: readBoundAt(status),
    ready: readiness.status === 'True',
    readiness,
    readySince: readReadySince(readiness),
    disruption: readCondition(status, DISRUPTION),
    namedPorts: readNamedPorts(spec),
    priority: Number(valueAt(spec, 'priority') ?? 0) || 0,
    requests: readRequests(spec),
    hostPorts: readHostPorts(spec),
    tolerations: internTolerations(arrayAt(spec, 'tolerations')),
    antiAffinity: readAntiAffinity(spec, meta),
    placement: isToBind ? readPlacement(spec, status, meta) : undefined,
  }
}

/** The Pod as it will be once it is bound to this node. */
export function boundPod(pod: PodObject, nodeName: string): PodObject {
  return { ...pod, nodeName, placement: undefined }
}

function readReadySince({ status, lastTransitionTime }: StatusCondition): number | undefined {
  return status === 'True' ? Date.parse(lastTransitionTime) || 0 : undefined
}

function readBoundAt(podStatus: JsonObject): string {
  const { status, lastTransitionTime } = readCondition(podStatus, 'PodScheduled')
  return status === 'True' ? lastTransitionTime : ''
}

function readRestarts(
  status: JsonObject,
  field: 'containerStatuses' | 'initContainerStatuses',
): readonly number[] {
  return arrayAt(status, field).map((one) => Number(valueAt(one, 'restartCount') ?? 0))
}

function readEndedAt(status: JsonObject): string {
  const ends = arrayAt(status, 'containerStatuses').map((one) =>
    stringAt(one, 'state', 'terminated', 'finishedAt'),
  )
  return ends.toSorted().at(-1) ?? ''
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

function internTolerations(tolerations: readonly Json[]): readonly Json[] {
  return USUAL_TOLERATIONS.find((usual) => isDeepEqual(usual, tolerations)) ?? tolerations
}

function readIps(status: JsonObject): readonly IpAddress[] {
  const listed = arrayAt(status, 'podIPs').map((one) => stringAt(one, 'ip'))
  const texts = listed.length > 0 ? listed : [stringAt(status, 'podIP')]
  return texts.map(parseLegacyIp).filter((ip) => ip !== undefined)
}

function readNamedPorts(spec: JsonObject): readonly ContainerPort[] {
  return portsOf(spec)
    .map((port) => ({
      name: stringAt(port, 'name'),
      protocol: stringAt(port, 'protocol') || 'TCP',
      port: Number(valueAt(port, 'containerPort')),
    }))
    .filter(({ name }) => name !== '')
}

/** The ports of containers and sidecars. With `hostNetwork` every port is one of the node. */
function readHostPorts(spec: JsonObject): readonly HostPort[] {
  const isHost = valueAt(spec, 'hostNetwork') === true
  const ports = portsOf(spec)
    .map((port) => ({
      ip: stringAt(port, 'hostIP') || '0.0.0.0',
      protocol: stringAt(port, 'protocol') || 'TCP',
      port: Number(valueAt(port, 'hostPort') || (isHost && valueAt(port, 'containerPort'))),
    }))
    .filter(({ port }) => port > 0)
  return ports.length === 0 ? NO_PORTS : ports
}

function portsOf(spec: JsonObject): readonly JsonObject[] {
  const sidecars = arrayAt(spec, 'initContainers').filter(
    (container) => stringAt(container, 'restartPolicy') === 'Always',
  )
  return [...arrayAt(spec, 'containers'), ...sidecars]
    .flatMap((container) => arrayAt(container, 'ports'))
    .filter(isJsonObject)
}
