import { SERVICE_NAME, SLICE_MANAGED_BY } from '../../resources/label-names.ts'
import { podAffects } from '../backends/pod-affects.ts'
import { serviceLabels } from '../backends/service-labels.ts'
import { podsOf } from '../cache/selection.ts'
import type { View } from '../cache/view.ts'
import { readCapacity } from '../cache/zone-capacity.ts'
import type { ServiceObject } from '../objects/service-object.ts'
import type { Controller, Reconciliation } from '../runner/controller.ts'
import { CAPACITY_KEY, nodeAffects, servicesByCapacity } from './node-affects.ts'
import { ownerReference } from './owner-reference.ts'
import { serviceSlices } from './service-slices.ts'
import { sliceAffects } from './slice-affects.ts'
import type { SliceTemplate } from './slice-writes.ts'
import { anyOf, sliceDeletions, slicesOf, sliceWrites } from './slice-writes.ts'
import { hintsReport } from './topology/hints-report.ts'

const MANAGER = 'endpointslice-controller.k8s.io'
const MOST = 100
/** Thousands of Nodes that become ready together cost few looks at the Services. */
const CAPACITY_DELAY_MS = 1000

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
  delayMs: (key) => (key === CAPACITY_KEY ? CAPACITY_DELAY_MS : 0),
  reconcile,
}

function reconcile(key: string, view: View, now: number): Reconciliation {
  if (key === CAPACITY_KEY) return { writes: [], dirty: servicesByCapacity(view) }
  const service = view.services.get(key)
  const existing = slicesOf(key, view, MANAGER)
  if (service === undefined) return { writes: sliceDeletions(existing, [anyOf('services', key)]) }
  if (service.selector === undefined || service.externalName) {
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
    leaving: service.meta.terminating,
    most: MOST,
  }
}
