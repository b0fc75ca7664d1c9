import { ENDPOINTS_MANAGED_BY } from '../../resources/label-names.ts'
import { servicesOfPodChange } from '../backends/services-of-pod-change.ts'
import { podsOf } from '../cache/selection.ts'
import type { View } from '../cache/view.ts'
import { type EndpointsObject, isElectionLock } from '../objects/endpoints-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import { type ObjectIdentity, objectNamed } from '../runner/writing/write.ts'
import { ENDPOINTS_MANAGER, endpointsWrites } from './endpoints-writes.ts'

/**
 * How long hand-written Endpoints may exist without a Service, in milliseconds: `kubectl apply` creates
 * Endpoints before Services.
 */
const ORPHAN_GRACE_MS = 60_000

/**
 * Writes the Endpoints of every Service with a selector, and deletes Endpoints without a Service. A key is
 * `namespace/name` of a Service and of its Endpoints. The controller watches both, so that it reverts
 * changes by other clients.
 */
export const endpointsController: Controller = {
  name: 'endpoints',
  account: 'endpoint-controller',
  watches: {
    services: ({ key }) => [key],
    pods: servicesOfPodChange,
    endpoints: ({ key }) => [key],
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const service = view.services.get(key)
  const existing = view.endpoints.get(key)
  if (service === undefined) return existing === undefined ? SETTLED : deleteOrphan(existing, now)
  if (service.isExternalName) {
    return existing !== undefined && isOurs(existing) ? deletion(existing) : SETTLED
  }
  if (service.selector === undefined) return SETTLED
  return { writes: endpointsWrites(service, podsOf(service, view), existing) }
}

/** The Service of these Endpoints was deleted, or is not created yet. */
function deleteOrphan(existing: EndpointsObject, now: number): Reconciliation {
  const { meta } = existing
  if (isElectionLock(existing)) return SETTLED
  const waitMs = isOurs(existing) ? 0 : Date.parse(meta.createdAt) + ORPHAN_GRACE_MS - now
  if (waitMs > 0) return { writes: [], againMs: waitMs }
  return deletion(existing, [objectNamed('services', meta.key)])
}

function isOurs({ meta }: EndpointsObject): boolean {
  return meta.labels[ENDPOINTS_MANAGED_BY] === ENDPOINTS_MANAGER
}

function deletion(
  { meta }: EndpointsObject,
  absent: readonly ObjectIdentity[] = [],
): Reconciliation {
  if (meta.terminating) return SETTLED
  return { writes: [{ verb: 'delete', collection: 'endpoints', meta, absent }] }
}
