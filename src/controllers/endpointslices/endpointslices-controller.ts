import { SERVICE_NAME, SLICE_MANAGED_BY } from '../../resources/label-names.ts'
import { nodeAffects, podAffects } from '../backends/pod-affects.ts'
import { serviceLabels } from '../backends/service-labels.ts'
import { podsOf } from '../objects/selection.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import type { View } from '../objects/view.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { ownerReference } from './owner-reference.ts'
import { serviceSlices } from './service-slices.ts'
import { sliceAffects } from './slice-affects.ts'
import type { SliceTemplate } from './slice-writes.ts'
import { anyOf, sliceDeletions, slicesOf, sliceWrites } from './slice-writes.ts'

const MANAGER = 'endpointslice-controller.k8s.io'
const MOST = 100

/**
 * Keeps the EndpointSlices of every Service with a selector. It owns the slices
 * that carry its name and are a Service's by their label; a Service that is
 * gone, has no selector (any more) or is a name only has none of them.
 */
export const endpointSlicesController: Controller = {
  name: 'endpointslices',
  watches: {
    services: ({ key }) => [key],
    pods: podAffects,
    nodes: nodeAffects,
    endpointslices: sliceAffects(MANAGER),
  },
  reconcile,
}

function reconcile(key: string, view: View): Reconciliation {
  const service = view.services.get(key)
  const existing = slicesOf(key, view, MANAGER)
  if (service === undefined) return { writes: sliceDeletions(existing, [anyOf('services', key)]) }
  if (service.selector === undefined || service.externalName) {
    return { writes: sliceDeletions(existing) }
  }
  const zoneOf = (nodeName: string): string => view.nodes.get(nodeName)?.zone ?? ''
  const wanted = serviceSlices(service, podsOf(service, view), zoneOf)
  return { writes: sliceWrites(existing, wanted, templateOf(service)) }
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
    leaving: service.meta.terminating,
    most: MOST,
  }
}
