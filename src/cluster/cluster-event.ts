import type { Cidr } from '../lib/ip.ts'
import type { EndpointSource, Node, Service, ServiceKey } from '../resources/types.ts'

/**
 * One change of the cluster, as a watch of the API server reports it: the new value of an object, or undefined when
 * the object was deleted. `key` and the `name` of endpoints are `namespace/name`; the `name` of a node is that of the
 * Node object, the `name` of Service ranges that of a ServiceCIDR object.
 */
export type ClusterEvent =
  | { readonly kind: 'service'; readonly key: ServiceKey; readonly value: Service | undefined }
  | {
      readonly kind: 'endpoints'
      readonly name: string
      readonly value: EndpointSource | undefined
    }
  | { readonly kind: 'node'; readonly name: string; readonly value: Node | undefined }
  | {
      readonly kind: 'serviceCIDR'
      readonly name: string
      readonly value: readonly Cidr[] | undefined
    }
