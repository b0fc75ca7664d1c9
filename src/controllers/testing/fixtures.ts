import type { Json, JsonObject } from '../../lib/json.ts'
import { arrayAt, objectAt, stringAt } from '../../lib/json.ts'

/** Raw objects of namespace `shop`; a test replaces the fields that it is about. */

export const BORN = '2026-01-01T00:00:00Z'

export function rawService(spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'svc', creationTimestamp: BORN, ...metadata },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.10',
      ipFamilies: ['IPv4'],
      selector: { app: 'web' },
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
      ...spec,
    },
  }
}

/** An object of namespace `shop` whose uid is its name. */
export function named(name: string, metadata: JsonObject = {}): JsonObject {
  return { metadata: { name, namespace: 'shop', uid: name, ...metadata } }
}

export interface PodParts {
  readonly metadata?: JsonObject
  readonly spec?: JsonObject
  readonly status?: JsonObject
}

/** A ready Pod `web-<serial>` at 10.0.0.<serial> and fd00::<serial>. */
export function rawPod(serial: number, { metadata, spec, status }: PodParts = {}): JsonObject {
  const [ip, ip6] = [`10.0.${serial >> 8}.${serial & 255}`, `fd00::${serial.toString(16)}`]
  return {
    metadata: {
      name: `web-${serial}`,
      namespace: 'shop',
      uid: `pod-${serial}`,
      labels: { app: 'web' },
      ...metadata,
    },
    spec: { nodeName: 'node-a', containers: [{ name: 'main' }], ...spec },
    status: {
      phase: 'Running',
      podIP: ip,
      podIPs: [{ ip }, { ip: ip6 }],
      conditions: [readyCondition(true)],
      ...status,
    },
  }
}

export function readyCondition(ready: boolean, since = '2026-01-02T00:00:00Z'): JsonObject {
  return { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: since }
}

export const NOT_READY: PodParts = { status: { conditions: [readyCondition(false)] } }
export const LEAVING: PodParts = { metadata: { deletionTimestamp: '2026-01-03T00:00:00Z' } }

/** A Pod with ports that have names. */
export function namedPorts(ports: Readonly<Record<string, number>>): PodParts {
  const list = Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort }))
  return { spec: { nodeName: 'node-a', containers: [{ name: 'main', ports: list }] } }
}

export function rawNode(name: string, zone: string, status?: JsonObject): JsonObject {
  const metadata = { name, labels: { 'topology.kubernetes.io/zone': zone } }
  return status === undefined ? { metadata } : { metadata, status }
}

/** The status of a ready Node with this many processors. */
export function readyNode(cpu: string): JsonObject {
  return { allocatable: { cpu }, conditions: [readyCondition(true)] }
}

export function rawEndpoints(subsets: JsonObject[], metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'eps', creationTimestamp: BORN, ...metadata },
    subsets,
  }
}

/** A copy with additional metadata. */
export function relabelled(object: JsonObject, metadata: JsonObject): JsonObject {
  return { ...object, metadata: { ...objectAt(object, 'metadata'), ...metadata } }
}

/** The condition of a type in the status of an object; empty where it has none. */
export function conditionOf(object: Json | undefined, type: string): JsonObject {
  const conditions = arrayAt(object, 'status', 'conditions')
  return objectAt(conditions.find((one) => stringAt(one, 'type') === type))
}
