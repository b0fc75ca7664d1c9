import type { IpAddress } from '../../lib/ip.ts'
import { parseIp } from '../../lib/ip.ts'
import type { JsonObject } from '../../lib/json.ts'
import { arrayAt, isJsonObject, objectAt, stringAt, valueAt } from '../../lib/json.ts'
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
  /** Its deletion has been asked for. */
  readonly terminating: boolean
  readonly ready: boolean
  /** When `ready` became what it is, RFC 3339; empty when unknown. */
  readonly readySince: string
  /** The reason of its Ready condition; empty when there is none. */
  readonly readyReason: string
  /** Ports with a name, of containers and of init containers that keep running, in this order. */
  readonly namedPorts: readonly ContainerPort[]
  readonly enableServiceLinks: boolean
}

export function readPod(object: JsonObject): PodObject {
  const [spec, status] = [objectAt(object, 'spec'), objectAt(object, 'status')]
  const phase = stringAt(status, 'phase')
  const ready = arrayAt(status, 'conditions').find((one) => stringAt(one, 'type') === 'Ready')
  return {
    meta: readMeta(object),
    ips: readIps(status),
    nodeName: stringAt(spec, 'nodeName'),
    hostname: stringAt(spec, 'hostname'),
    subdomain: stringAt(spec, 'subdomain'),
    finished: phase === 'Succeeded' || phase === 'Failed',
    terminating: stringAt(object, 'metadata', 'deletionTimestamp') !== '',
    ready: stringAt(ready, 'status') === 'True',
    readySince: stringAt(ready, 'lastTransitionTime'),
    readyReason: stringAt(ready, 'reason'),
    namedPorts: readNamedPorts(spec),
    enableServiceLinks: valueAt(spec, 'enableServiceLinks') !== false,
  }
}

function readIps(status: JsonObject): readonly IpAddress[] {
  const listed = arrayAt(status, 'podIPs').map((one) => stringAt(one, 'ip'))
  const texts = listed.length > 0 ? listed : [stringAt(status, 'podIP')]
  return texts.map(parseIp).filter((ip) => ip !== undefined)
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
