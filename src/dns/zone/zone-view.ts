import type { EndpointSource, Service, ServiceKey } from '../../resources/types.ts'

/** The cluster as a zone reads it; a `ClusterStore` is one. */
export interface ZoneView {
  /** Undefined: there is no such Service. */
  service(key: ServiceKey): Service | undefined
  /** Every endpoint source of the Service. */
  endpointSourcesOf(key: ServiceKey): readonly EndpointSource[]
}
