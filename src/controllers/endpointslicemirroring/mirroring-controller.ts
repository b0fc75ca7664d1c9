import {
  ENDPOINTS_MANAGED_BY,
  LAST_APPLIED,
  LEADER,
  OVER_CAPACITY,
  SERVICE_NAME,
  SKIP_MIRROR,
  SLICE_MANAGED_BY,
  TRIGGER_TIME,
} from '../../resources/label-names.ts'
import type { View } from '../cache/view.ts'
import { ownerReference } from '../endpointslices/owner-reference.ts'
import { sliceAffects } from '../endpointslices/slice-affects.ts'
import type { SliceTemplate } from '../endpointslices/slice-writes.ts'
import { anyOf, sliceDeletions, slicesOf, sliceWrites } from '../endpointslices/slice-writes.ts'
import type { EndpointsObject } from '../objects/endpoints-object.ts'
import type { StringMap } from '../objects/object-meta.ts'
import { withoutKeys } from '../objects/string-map.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { isTruncated, MOST_OF_SUBSET, mirroredSlices } from './mirrored-slices.ts'

const MANAGER = 'endpointslicemirroring-controller.k8s.io'
const TRUE = /^(1|t|T|true|True|TRUE)$/

/**
 * Shows the Endpoints that people write for Services without a selector as
 * EndpointSlices, because nodes read only those. Locks, Endpoints labelled
 * `skip-mirror` and Endpoints without a Service are not shown.
 */
export const mirroringController: Controller = {
  name: 'endpointslicemirroring',
  watches: {
    services: ({ key }) => [key],
    endpoints: ({ key }) => [key],
    endpointslices: sliceAffects(MANAGER),
  },
  reconcile,
}

function reconcile(key: string, view: View): Reconciliation {
  const service = view.services.get(key)
  const endpoints = view.endpoints.get(key)
  const existing = slicesOf(key, view, MANAGER)
  if (service === undefined || endpoints === undefined) {
    const missing = service === undefined ? 'services' : 'endpoints'
    return { writes: sliceDeletions(existing, [anyOf(missing, key)]) }
  }
  if (service.selector !== undefined || service.externalName || isHidden(endpoints)) {
    return { writes: sliceDeletions(existing) }
  }
  const template = templateOf(
    endpoints,
    existing.map(({ meta }) => meta.annotations),
  )
  return { writes: sliceWrites(existing, mirroredSlices(endpoints), template) }
}

function isHidden({ meta }: EndpointsObject): boolean {
  const isLock = Object.hasOwn(meta.annotations, LEADER)
  return isLock || TRUE.test(meta.labels[SKIP_MIRROR] ?? '')
}

/** Labels and annotations are copied, except for those that say something of the Endpoints alone. */
function templateOf(endpoints: EndpointsObject, known: readonly StringMap[]): SliceTemplate {
  const { namespace, name, labels, annotations } = endpoints.meta
  const former = known.flatMap(Object.keys).filter((key) => key !== TRIGGER_TIME)
  return {
    namespace,
    service: name,
    labels: {
      ...withoutKeys(labels, ENDPOINTS_MANAGED_BY),
      [SERVICE_NAME]: name,
      [SLICE_MANAGED_BY]: MANAGER,
    },
    annotations: {
      ...Object.fromEntries(former.map((key) => [key, undefined])),
      ...withoutKeys(annotations, LAST_APPLIED, TRIGGER_TIME),
      [OVER_CAPACITY]: isTruncated(endpoints) ? 'truncated' : undefined,
    },
    owner: ownerReference('Endpoints', endpoints.meta),
    leaving: endpoints.meta.terminating,
    most: MOST_OF_SUBSET,
  }
}
