import type { EndpointSource, Node, Service, ServiceKey } from '../resources/types.ts'

/** What the compiler reads of the cluster; `ClusterStore` has it. */
export interface ClusterView {
  service(key: ServiceKey): Service | undefined
  /** Every EndpointSlice (or the one Endpoints object) of a Service, in any order. */
  endpointSourcesOf(key: ServiceKey): readonly EndpointSource[]
  node(name: string): Node | undefined
}
