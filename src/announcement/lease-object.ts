import { familyOf, formatIp, type IpAddress, ipBytes, parseIp } from '../lib/ip.ts'
import { isJsonObject, type Json, type JsonObject, stringAt, valueAt } from '../lib/json.ts'
import type { LeaseWrite, SeenLease } from './election.ts'

const PREFIX = 'announced-'
/** Annotations of a Lease: its duration in milliseconds, the node that requests it, and the one that released it last. */
const DURATION = 'announcement.orch.io/lease-duration-ms'
const REQUESTED_BY = 'announcement.orch.io/requested-by'
const RELEASED_BY = 'announcement.orch.io/released-by'
/** Label of a Lease: its address as in the name, so that one watch follows the Leases of many addresses. */
const ADDRESS = 'announcement.orch.io/address'

/** The namespace of the Leases: the same for all nodes, however each of them was installed. */
export const LEASE_NAMESPACE = 'kube-system'

/** A MicroTime of Kubernetes, with the microseconds behind the milliseconds. */
const MICRO_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})(\d{3})Z$/
const V6_NAME = /^(?:[0-9a-f]{4}-){7}[0-9a-f]{4}$/

/** The name of the Lease of an address: `announced-192.0.2.50`, `announced-2001-0db8-0000-0000-0000-0000-0000-0050`. */
export function leaseName(ip: IpAddress): string {
  return PREFIX + addressLabel(ip)
}

/** A label selector of the Leases of these addresses. */
export function leaseSelector(ips: Iterable<IpAddress>): string {
  return `${ADDRESS} in (${[...ips].map(addressLabel).join(',')})`
}

function addressLabel(ip: IpAddress): string {
  if (familyOf(ip) === 4) return ip
  return Buffer.from(ipBytes(ip))
    .toString('hex')
    .replace(/.{4}(?!$)/g, '$&-')
}

/** The address of a Lease by its name; undefined if it is not one of an address. */
export function addressOfLease(name: string): IpAddress | undefined {
  if (!name.startsWith(PREFIX)) return undefined
  const rest = name.slice(PREFIX.length)
  if (!V6_NAME.test(rest)) return rest.includes(':') ? undefined : parseIp(rest)
  return formatIp(Buffer.from(rest.replaceAll('-', ''), 'hex'))
}

/** Reads a Lease (`coordination.k8s.io/v1`). What it lacks is empty or 0; undefined if it is no object with a version. */
export function readLease(object: unknown): SeenLease | undefined {
  if (!isJsonObject(object)) return undefined
  const version = stringAt(object, 'metadata', 'resourceVersion')
  if (!/^[0-9]{1,20}$/.test(version)) return undefined
  const seconds = Number(valueAt(object, 'spec', 'leaseDurationSeconds') ?? 0)
  const exact = stringAt(object, 'metadata', 'annotations', DURATION)
  return {
    version,
    holder: stringAt(object, 'spec', 'holderIdentity'),
    renewal: readMicroTime(stringAt(object, 'spec', 'renewTime')),
    duration: /^[1-9][0-9]{0,8}$/.test(exact) ? Number(exact) : seconds > 0 ? seconds * 1_000 : 0,
    requestedBy: stringAt(object, 'metadata', 'annotations', REQUESTED_BY),
    releasedBy: stringAt(object, 'metadata', 'annotations', RELEASED_BY),
  }
}

/** Since when its holder holds a Lease, by the clock of the holder: microseconds since the epoch, 0 if it is not known. */
export function acquiredAt(object: unknown): number {
  return isJsonObject(object) ? readMicroTime(stringAt(object, 'spec', 'acquireTime')) : 0
}

/**
 * The Lease that a write creates; if it has a version, a merge patch, which the API server refuses for any other version and
 * for a Lease that does not exist. `now`: this node's clock, in microseconds.
 */
export function leaseObject(write: LeaseWrite, now: number): JsonObject {
  const { ip, reason, version, record } = write
  const isRenewal = reason !== 'create' && reason !== 'request'
  const renewal = isRenewal ? Math.max(record.renewal, now) : record.renewal
  const absent = version === undefined ? undefined : null
  return withoutUndefined({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: withoutUndefined({
      name: leaseName(ip),
      namespace: LEASE_NAMESPACE,
      resourceVersion: version,
      labels: { [ADDRESS]: addressLabel(ip) },
      annotations: withoutUndefined({
        [DURATION]: String(record.duration),
        [REQUESTED_BY]: record.requestedBy === '' ? absent : record.requestedBy,
        [RELEASED_BY]: record.releasedBy === '' ? absent : record.releasedBy,
      }),
    }),
    spec: withoutUndefined({
      holderIdentity: record.holder === '' ? absent : record.holder,
      leaseDurationSeconds: Math.ceil(record.duration / 1_000),
      acquireTime: reason === 'acquire' ? microTime(renewal) : undefined,
      renewTime: renewal === 0 ? absent : microTime(renewal),
    }),
  })
}

function withoutUndefined(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as JsonObject
}

/** Microseconds since the epoch; 0 for a text that is no MicroTime. */
function readMicroTime(text: string): number {
  const [, milliseconds = '', micros = ''] = MICRO_TIME.exec(text) ?? []
  const time = Date.parse(`${milliseconds}Z`)
  return Number.isNaN(time) ? 0 : time * 1_000 + Number(micros)
}

function microTime(micros: number): string {
  const milliseconds = new Date(Math.floor(micros / 1_000)).toISOString().slice(0, -1)
  return `${milliseconds}${String(Math.floor(micros) % 1_000).padStart(3, '0')}Z`
}
