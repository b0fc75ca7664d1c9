import { ENDPOINTS_MANAGED_BY, LEADER } from '../../resources/label-names.ts'
import { podAffects } from '../backends/pod-affects.ts'
import { podsOf } from '../cache/selection.ts'
import type { View } from '../cache/view.ts'
import type { EndpointsObject } from '../objects/endpoints-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { SETTLED } from '../runner/controller.ts'
import type { ObjectIdentity } from '../runner/writing/write.ts'
import { endpointsWrites, MANAGER } from './endpoints-writes.ts'

/** Endpoints that people write may come before their Service (`kubectl apply` sorts so). */
const ORPHAN_MS = 60_000

/**
 * Keeps the Endpoints of every Service with a selector. Its keys are those of
 * Services, which are those of their Endpoints; it watches the latter too, so
 * what somebody else does to them does not last.
 */
export const endpointsController: Controller = {
  name: 'endpoints',
  watches: {
    services: ({ key }) => [key],
    pods: podAffects,
    endpoints: ({ key }) => [key],
  },
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  const service = view.services.get(key)
  const existing = view.endpoints.get(key)
  if (service === undefined) return existing === undefined ? SETTLED : orphan(existing, now)
  if (service.externalName) {
    return existing !== undefined && isOurs(existing) ? remove(existing) : SETTLED
  }
  if (service.selector === undefined) return SETTLED
  return { writes: endpointsWrites(service, podsOf(service, view), existing) }
}

/** Endpoints without a Service: nobody's any more, or not yet somebody's. */
function orphan(existing: EndpointsObject, now: number): Reconciliation {
  if (Object.hasOwn(existing.meta.annotations, LEADER)) return SETTLED
  const waitMs = isOurs(existing) ? 0 : Date.parse(existing.meta.createdAt) + ORPHAN_MS - now
  if (waitMs > 0) return { writes: [], againMs: waitMs }
  const absent = [{ ...identityOf(existing), collection: 'services' } as const]
  return remove(existing, absent)
}

/** By name: a Service that cannot be read is in no list, and yet not gone. */
function identityOf({ meta: { namespace, name } }: EndpointsObject) {
  return { namespace, name, uid: '' }
}

function isOurs({ meta }: EndpointsObject): boolean {
  return meta.labels[ENDPOINTS_MANAGED_BY] === MANAGER
}

function remove({ meta }: EndpointsObject, absent: readonly ObjectIdentity[] = []): Reconciliation {
  if (meta.terminating) return SETTLED
  return { writes: [{ verb: 'delete', collection: 'endpoints', meta, absent }] }
}
