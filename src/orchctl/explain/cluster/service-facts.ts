import { type JsonObject, objectAt, stringAt } from '../../../lib/json.ts'
import { NAMES } from '../../../resources/names.ts'
import { objectKey } from './named-end.ts'

/** What a Service says of topology, from which controllers give its endpoints hints. */
export interface ServiceFacts {
  /** `namespace/name` */
  readonly name: string
  readonly internalTrafficPolicy: string
  readonly externalTrafficPolicy: string
  /** `spec.trafficDistribution`; empty: not set. */
  readonly trafficDistribution: string
  /** The annotation for hints in proportion to processors; empty: not set. */
  readonly topologyMode: string
}

/** Reads them from the object. */
export function serviceFacts(service: JsonObject): ServiceFacts {
  const annotations = objectAt(service, 'metadata', 'annotations')
  const [topologyMode = ''] = NAMES.topologyMode.flatMap(
    (name) => stringAt(annotations, name) || [],
  )
  return {
    name: objectKey(service),
    internalTrafficPolicy: stringAt(service, 'spec', 'internalTrafficPolicy') || 'Cluster',
    externalTrafficPolicy: stringAt(service, 'spec', 'externalTrafficPolicy') || 'Cluster',
    trafficDistribution: stringAt(service, 'spec', 'trafficDistribution'),
    topologyMode,
  }
}
