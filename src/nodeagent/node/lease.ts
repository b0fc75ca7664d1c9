import type { JsonObject } from '../../lib/json.ts'
import { NODE_LEASES } from '../../resources/names.ts'

const DURATION_SECONDS = 40

/** A node's Lease, new. */
export function lease(nodeName: string, now: number): JsonObject {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: nodeName, namespace: NODE_LEASES },
    ...renewal(nodeName, now),
  }
}

/** What a heartbeat changes of it. */
export function renewal(nodeName: string, now: number): JsonObject {
  const renewTime = new Date(now).toISOString().replace('Z', '000Z')
  return {
    spec: { holderIdentity: nodeName, leaseDurationSeconds: DURATION_SECONDS, renewTime },
  }
}
