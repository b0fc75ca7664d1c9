import type { EndpointSource, Node, Service, ServiceKey } from '../resources/types.ts'

/** One change of the cluster; `value: undefined` means that the object is gone. */
export type ClusterEvent =
  | { readonly kind: 'service'; readonly key: ServiceKey; readonly value: Service | undefined }
  | {
      readonly kind: 'endpoints'
      readonly name: string
      readonly value: EndpointSource | undefined
    }
  | { readonly kind: 'node'; readonly name: string; readonly value: Node | undefined }
