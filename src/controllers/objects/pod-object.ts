import type { IpAddress } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'
import { DISRUPTION, READY } from '../../resources/condition-names.ts'
import { readCondition, type StatusCondition } from '../../resources/status-condition.ts'
import type { ObjectMeta } from './object-meta.ts'
import { readMeta } from './object-meta.ts'

export interface ContainerPort {
  readonly name: string
  readonly protocol: string
  readonly port: number
}

/** What controllers need to know of a Pod. */
export interface PodObject {
  readonly meta: ObjectMeta
  /** In canonical text, in the order of the status; `podIP` alone where there is no `podIPs`. */
  readonly ips: readonly IpAddress[]
  readonly nodeName: string
  readonly hostname: string
  readonly subdomain: string
  /** Succeeded or Failed: its containers have ended and never start again. */
  readonly finished: boolean
  /** It is being deleted. */
  readonly terminating: boolean
  /** When its grace ends, RFC 3339; empty when it is not being deleted. */
  readonly graceEndsAt: string
  /** Seconds of its grace; 0 when it has none, or is not being deleted. */
  readonly graceSeconds: number
  readonly ready: boolean
  readonly readiness: StatusCondition
  /** Whether it is about to go for reasons that are not its own. */
  readonly disruption: StatusCondition
  /** Ports with a name, of containers and of init containers that keep running, in this order. */
  readonly namedPorts: readonly ContainerPort[]
}

export function readPod(object: JsonObject): PodObject {
  const [spec, status] = [objectAt(object, 'spec'), objectAt(object, 'status')]
  const phase = stringAt(status, 'phase')
  const readiness = readCondition(status, READY)
  return {
    meta: readMeta(object),
    ips: readIps(status),
    nodeName: stringAt(spec, 'nodeName'),
    hostname: stringAt(spec, 'hostname'),
    subdomain: stringAt(spec, 'subdomain'),
    finished: phase === 'Succeeded' || phase === 'Failed',
    terminating: stringAt(object, 'metadata', 'deletionTimestamp') !== '',
    graceEndsAt: stringAt(object, 'metadata', 'deletionTimestamp'),
    graceSeconds: Number(valueAt(object, 'metadata', 'deletionGracePeriodSeconds') ?? 0),
    ready: readiness.status === 'True',
    readiness,
    disruption: readCondition(status, DISRUPTION),
    namedPorts: readNamedPorts(spec),
  }
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
