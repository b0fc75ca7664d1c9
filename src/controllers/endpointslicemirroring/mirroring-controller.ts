import {
  ENDPOINTS_MANAGED_BY,
  LAST_APPLIED,
  OVER_CAPACITY,
  SERVICE_NAME,
  SKIP_MIRROR,
  SLICE_MANAGED_BY,
  TRIGGER_TIME,
} from '../../resources/label-names.ts'
import type { View } from '../cache/view.ts'
import { type EndpointsObject, isElectionLock } from '../objects/endpoints-object.ts'
import { type StringMap, withoutKeys } from '../objects/string-map.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { objectNamed } from '../runner/writing/write.ts'
import { ownerReference } from '../slices/owner-reference.ts'
import { sliceAffects } from '../slices/slice-affects.ts'
import type { SliceTemplate } from '../slices/slice-writes.ts'
import { sliceDeletions, slicesOf, sliceWrites } from '../slices/slice-writes.ts'
import { isTruncated, MAX_PER_SUBSET, mirroredSlices } from './mirrored-slices.ts'

const MANAGER = 'endpointslicemirroring-controller.k8s.io'
/** Texts that `strconv.ParseBool` of Go takes for true, as kube-controller-manager reads the label. */
const TRUE = /^(1|t|T|true|True|TRUE)$/

/**
 * Mirrors hand-written Endpoints of Services without a selector as EndpointSlices, because nodes read
 * only those. Locks of a leader election, Endpoints with the label `skip-mirror` and Endpoints without a
 * Service are not mirrored.
 */
export const mirroringController: Controller = {
  name: 'endpointslicemirroring',
  account: 'endpointslicemirroring-controller',
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
    return { writes: sliceDeletions(existing, [objectNamed(missing, key)]) }
  }
  if (service.selector !== undefined || service.isExternalName || isExcluded(endpoints)) {
    return { writes: sliceDeletions(existing) }
  }
  const template = templateOf(
    endpoints,
    existing.map(({ meta }) => meta.annotations),
  )
  return { writes: sliceWrites(existing, mirroredSlices(endpoints), template) }
}

function isExcluded(endpoints: EndpointsObject): boolean {
  return isElectionLock(endpoints) || TRUE.test(endpoints.meta.labels[SKIP_MIRROR] ?? '')
}

/**
 * Slices get the labels and annotations of the Endpoints, except for those that concern the Endpoints
 * alone. Annotations of existing slices (`known`) that the Endpoints no longer have are removed.
 */
function templateOf(endpoints: EndpointsObject, known: readonly StringMap[]): SliceTemplate {
  const { namespace, name, labels, annotations } = endpoints.meta
  const knownKeys = known.flatMap(Object.keys).filter((key) => key !== TRIGGER_TIME)
  return {
    namespace,
    service: name,
    labels: {
      ...withoutKeys(labels, ENDPOINTS_MANAGED_BY),
      [SERVICE_NAME]: name,
      [SLICE_MANAGED_BY]: MANAGER,
    },
    annotations: {
      ...Object.fromEntries(knownKeys.map((key) => [key, undefined])),
      ...withoutKeys(annotations, LAST_APPLIED, TRIGGER_TIME),
      [OVER_CAPACITY]: isTruncated(endpoints) ? 'truncated' : undefined,
    },
    owner: ownerReference('Endpoints', endpoints.meta),
    ownerTerminating: endpoints.meta.terminating,
    maxEndpoints: MAX_PER_SUBSET,
  }
}
