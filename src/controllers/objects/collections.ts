import type { JsonObject } from '../../lib/json.ts'
import type { EndpointsObject } from './endpoints-object.ts'
import { readEndpoints } from './endpoints-object.ts'
import { SERVICE_NAME } from './names.ts'
import type { NodeObject } from './node-object.ts'
import { readNode } from './node-object.ts'
import type { PodObject } from './pod-object.ts'
import { readPod } from './pod-object.ts'
import type { ServiceObject } from './service-object.ts'
import { readService } from './service-object.ts'
import type { SliceObject } from './slice-object.ts'
import { readSlice } from './slice-object.ts'

/** Everything that a controller may look at, by the name of its collection. */
export interface Objects {
  readonly services: ServiceObject
  readonly pods: PodObject
  readonly nodes: NodeObject
  readonly endpoints: EndpointsObject
  readonly endpointslices: SliceObject
}

export type CollectionName = keyof Objects

/** Where a collection is on the wire, how its objects are read, and how they are found again. */
export interface CollectionSpec<T> {
  /** Path in front of `namespaces/…` or the plural. */
  readonly root: string
  readonly decode: (object: JsonObject) => T
  /** Names of the groups in which others look for the object. */
  readonly groups: (object: T) => readonly string[]
}

export const COLLECTIONS: { readonly [K in CollectionName]: CollectionSpec<Objects[K]> } = {
  services: {
    root: '/api/v1',
    decode: readService,
    groups: ({ meta, selector }) =>
      Object.entries(selector ?? {})
        .slice(0, 1)
        .map((label) => labelGroup(meta.namespace, label)),
  },
  pods: {
    root: '/api/v1',
    decode: readPod,
    groups: ({ meta, nodeName }) => [
      ...Object.entries(meta.labels).map((label) => labelGroup(meta.namespace, label)),
      nodeGroup(nodeName),
    ],
  },
  nodes: { root: '/api/v1', decode: readNode, groups: () => [] },
  endpoints: { root: '/api/v1', decode: readEndpoints, groups: () => [] },
  endpointslices: {
    root: '/apis/discovery.k8s.io/v1',
    decode: readSlice,
    groups: ({ meta }) => [`${meta.namespace}/${meta.labels[SERVICE_NAME] ?? ''}`],
  },
}

/** Pods of a namespace with a label; Services of which it is the first label they select by. */
export function labelGroup(namespace: string, [key, value]: readonly [string, string]): string {
  return `${namespace}/${key}=${value}`
}

/** Pods of a node. */
export function nodeGroup(nodeName: string): string {
  return `node ${nodeName}`
}

/** `/api/v1/namespaces/shop/endpoints`, or with a name the path of one object. */
export function pathOf(collection: CollectionName, namespace: string, name?: string): string {
  const place = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`
  return `${COLLECTIONS[collection].root}${place}/${collection}${object}`
}
