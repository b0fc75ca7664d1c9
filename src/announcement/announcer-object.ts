import { type IpAddress, parseIp } from '../lib/ip.ts'
import { isJsonObject, type JsonObject, stringAt, valueAt } from '../lib/json.ts'
import type { AnnouncerNode } from './eligible-nodes.ts'
import { LEASE_NAMESPACE } from './lease-object.ts'

const PREFIX = 'announcer-'
/** Label of the Leases of announcers. */
const ANNOUNCER = 'announcement.orch.io/announcer'
/** Annotations: why the node announces nothing, the class that it serves, and its own addresses. */
const UNFIT = 'announcement.orch.io/unfit'
const CLASS = 'announcement.orch.io/load-balancer-class'
const ADDRESSES = 'announcement.orch.io/node-addresses'

/** A label selector of the Leases of all announcers. */
export const ANNOUNCER_SELECTOR = `${ANNOUNCER}=true`

/** A node that announces addresses, or could: what it publishes of itself in a Lease that it renews. */
export interface Announcer extends AnnouncerNode {
  /** Undefined: Services without a class. */
  readonly loadBalancerClass: string | undefined
  /** The addresses of the node itself, which no node announces. */
  readonly addresses: readonly IpAddress[]
  /** It counts as lost without a renewal for so many seconds. */
  readonly seconds: number
}

/** An announcer as the API server has it; another text of `renewal` is a renewal. */
export interface SeenAnnouncer extends Announcer {
  readonly renewal: string
}

/** The name of the Lease of an announcer. */
export function announcerName(node: string): string {
  return PREFIX + node
}

/** Reads the Lease of an announcer; undefined if it is none. */
export function readAnnouncer(object: unknown): SeenAnnouncer | undefined {
  if (!isJsonObject(object)) return undefined
  const name = stringAt(object, 'spec', 'holderIdentity')
  if (name === '' || stringAt(object, 'metadata', 'name') !== announcerName(name)) return undefined
  const annotation = (key: string) => stringAt(object, 'metadata', 'annotations', key)
  const unfit = annotation(UNFIT)
  const seconds = valueAt(object, 'spec', 'leaseDurationSeconds')
  return {
    name,
    isExcluded: unfit === 'excluded',
    isReady: unfit !== 'notReady',
    loadBalancerClass: annotation(CLASS) || undefined,
    addresses: annotation(ADDRESSES)
      .split(',')
      .flatMap((text) => parseIp(text) ?? []),
    seconds: typeof seconds === 'number' && seconds > 0 ? seconds : 0,
    renewal: stringAt(object, 'spec', 'renewTime'),
  }
}

/** The Lease of an announcer, to be created or as a merge patch; `now`: milliseconds since the epoch. */
export function announcerObject(announcer: Announcer, now: number): JsonObject {
  const { name, isExcluded, isReady, loadBalancerClass = '', addresses, seconds } = announcer
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: announcerName(name),
      namespace: LEASE_NAMESPACE,
      labels: { [ANNOUNCER]: 'true' },
      annotations: {
        [UNFIT]: isExcluded ? 'excluded' : isReady ? '' : 'notReady',
        [CLASS]: loadBalancerClass,
        [ADDRESSES]: addresses.join(','),
      },
    },
    spec: {
      holderIdentity: name,
      leaseDurationSeconds: Math.ceil(seconds),
      renewTime: `${new Date(now).toISOString().slice(0, -1)}000Z`,
    },
  }
}
