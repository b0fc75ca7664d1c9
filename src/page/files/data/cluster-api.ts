import { BY_NAME } from '../text/by-name.ts'
import { Connection, type ConnectionParts } from './connection.ts'
import type { EndpointSliceObject, NodeObject, ObjectList, PodObject } from './kubernetes.ts'
import { limitedApi } from './limited-api.ts'
import { type NodeApi, nodeApi } from './node-api.ts'
import { RequestLimit } from './request-limit.ts'

/** What orch-server answers of the cluster. Each throws RequestError. */
export interface ClusterApi {
  /** By name. */
  nodes(signal: AbortSignal): Promise<readonly NodeObject[]>
  pod(namespace: string, name: string, signal: AbortSignal): Promise<PodObject>
  /** The Pods that have an address, those that have ended among them. */
  podsAt(ip: string, signal: AbortSignal): Promise<readonly PodObject[]>
  /** Whether endpoints of a Service, which is named namespace/name, have topology hints. */
  hasHints(service: string, signal: AbortSignal): Promise<boolean>
  /** The node-proxy of a node, through orch-server. */
  node(name: string): NodeApi
}

/** Requests that run at once, streams of changes aside. */
const MAX_REQUESTS = 8
/** From the core API to that of EndpointSlices. */
const DISCOVERY = '../../apis/discovery.k8s.io/v1'
/** Objects in one part of a list. */
const PART = 500
/** A cluster has fewer Nodes than so many parts. */
const MAX_PARTS = 100

/** The API below `base`, such as `../api/v1/`. */
export function clusterApi({ base, ...parts }: ConnectionParts): ClusterApi {
  const limit = new RequestLimit(MAX_REQUESTS)
  const api = new Connection({ base, ...parts })
  const get = <T>(path: string, signal: AbortSignal) =>
    limit.run(() => api.json<T>(path, signal), signal)
  return {
    async nodes(signal) {
      const found: NodeObject[] = []
      let from = ''
      for (let part = 0; part < MAX_PARTS; part++) {
        const query = `limit=${PART}${from === '' ? '' : `&continue=${encodeURIComponent(from)}`}`
        const { items, metadata } = await get<ObjectList<NodeObject>>(`nodes?${query}`, signal)
        found.push(...(items ?? []))
        from = metadata?.continue ?? ''
        if (from === '') break
      }
      return found.toSorted((a, b) => BY_NAME.compare(a.metadata.name, b.metadata.name))
    },
    pod: (namespace, name, signal) =>
      get(`namespaces/${pathWord(namespace)}/pods/${pathWord(name)}`, signal),
    async podsAt(ip, signal) {
      const selector = encodeURIComponent(`status.podIP=${ip}`)
      const path = `pods?fieldSelector=${selector}`
      return (await get<ObjectList<PodObject>>(path, signal)).items ?? []
    },
    async hasHints(service, signal) {
      const [namespace = '', name = ''] = service.split('/')
      const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`)
      const path = `${DISCOVERY}/namespaces/${pathWord(namespace)}/endpointslices`
      const query = `limit=${PART}&labelSelector=${selector}`
      const { items = [] } = await get<ObjectList<EndpointSliceObject>>(`${path}?${query}`, signal)
      return items.some(({ endpoints }) => endpoints?.some(({ hints }) => hints !== undefined))
    },
    node: (name) => {
      const path = `${base}nodes/${pathWord(name)}/proxy/inspection/v1/`
      return limitedApi(nodeApi(new Connection({ base: path, ...parts })), limit)
    },
  }
}

/** A name as one word of a path. Those that mean a folder stay a word that names nothing. */
function pathWord(name: string): string {
  return name === '.' || name === '..' ? encodeURIComponent(`"${name}"`) : encodeURIComponent(name)
}
