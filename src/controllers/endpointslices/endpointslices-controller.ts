import { SERVICE_NAME, SLICE_MANAGED_BY } from '../../resources/label-names.ts'
import { serviceLabels } from '../backends/service-labels.ts'
import { servicesOfPodChange } from '../backends/services-of-pod-change.ts'
import { podsOf } from '../cache/selection.ts'
import type { View } from '../cache/view.ts'
import { readCapacity } from '../cache/zone-capacity.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { objectNamed } from '../runner/writing/write.ts'
import { ownerReference } from '../slices/owner-reference.ts'
import { sliceAffects } from '../slices/slice-affects.ts'
import type { SliceTemplate } from '../slices/slice-writes.ts'
import { sliceDeletions, slicesOf, sliceWrites } from '../slices/slice-writes.ts'
import { CAPACITY_KEY, nodeAffects, servicesByCapacity } from './node-affects.ts'
import { serviceSlices } from './service-slices.ts'
import { hintsReport } from './topology/hints-report.ts'

const MANAGER = 'endpointslice-controller.k8s.io'
/** `--max-endpoints-per-slice` of kube-controller-manager. */
const MAX_ENDPOINTS = 100
/** So that thousands of Nodes that become ready together cost few reconciles of the Services. */
const CAPACITY_DELAY_MS = 1000

/**
 * Writes the EndpointSlices of every Service with a selector. It manages the slices whose labels name
 * this controller and a Service, and deletes them when that Service is gone, has no selector or is an
 * ExternalName.
 */
export const endpointSlicesController: Controller = {
  name: 'endpointslices',
  account: 'endpointslice-controller',
  watches: {
    services: ({ key }) => [key],
    pods: servicesOfPodChange,
    nodes: nodeAffects,
    endpointslices: sliceAffects(MANAGER),
  },
  delayMs: (key) => (key === CAPACITY_KEY ? CAPACITY_DELAY_MS : 0),
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  if (key === CAPACITY_KEY) return { writes: [], dirty: servicesByCapacity(view) }
  const service = view.services.get(key)
  const existing = slicesOf(key, view, MANAGER)
  if (service === undefined) {
    return { writes: sliceDeletions(existing, [objectNamed('services', key)]) }
  }
  if (service.selector === undefined || service.isExternalName) {
    return { writes: [...sliceDeletions(existing), ...hintsReport(service, undefined, now)] }
  }
  const zoneOf = (nodeName: string): string => view.nodes.get(nodeName)?.zone ?? ''
  const capacity = readCapacity(view.nodes.totals())
  const { wanted, problem } = serviceSlices(service, podsOf(service, view), { zoneOf, capacity })
  const writes = sliceWrites(existing, wanted, templateOf(service))
  return { writes: [...writes, ...hintsReport(service, problem, now)] }
}

function templateOf(service: ServiceObject): SliceTemplate {
  const { namespace, name } = service.meta
  return {
    namespace,
    service: name,
    labels: {
      ...serviceLabels(service),
      [SERVICE_NAME]: name,
      [SLICE_MANAGED_BY]: MANAGER,
    },
    annotations: {},
    owner: ownerReference('Service', service.meta),
    ownerTerminating: service.meta.terminating,
    maxEndpoints: MAX_ENDPOINTS,
  }
}
