import { BY_NAME } from '../display/format.ts'
import { Connection, type ConnectionParts } from './connection.ts'
import { type NodeApi, nodeApi } from './node-api.ts'

/** What orch-server answers of the cluster. Each throws RequestError. */
export interface ClusterApi {
  /** By name. */
  nodes(signal: AbortSignal): Promise<readonly NodeObject[]>
  pod(namespace: string, name: string, signal: AbortSignal): Promise<PodObject>
  /** The Pods with this address, including those that have ended. */
  podsAt(ip: string, signal: AbortSignal): Promise<readonly PodObject[]>
  /** Whether endpoints of a Service, which is named namespace/name, have topology hints. */
  hasHints(service: string, signal: AbortSignal): Promise<boolean>
  /** The node-proxy of a node, through orch-server. */
  node(name: string): NodeApi
}

/** The most requests that run at the same time, without streams of changes. */
const MAX_REQUESTS = 8
/** The path from the core API to the API of EndpointSlices. */
const DISCOVERY = '../../apis/discovery.k8s.io/v1'
/** The most objects in one page of a list. */
const PAGE_SIZE = 500
/** The most pages that are read; no cluster has so many Nodes. */
const MAX_PAGES = 100

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
      for (let page = 0; page < MAX_PAGES; page++) {
        const query = `limit=${PAGE_SIZE}${from === '' ? '' : `&continue=${encodeURIComponent(from)}`}`
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
      const query = `limit=${PAGE_SIZE}&labelSelector=${selector}`
      const { items = [] } = await get<ObjectList<EndpointSliceObject>>(`${path}?${query}`, signal)
      return items.some(({ endpoints }) => endpoints?.some(({ hints }) => hints !== undefined))
    },
    node: (name) => {
      const path = `${base}nodes/${pathWord(name)}/proxy/inspection/v1/`
      return limitedApi(nodeApi(new Connection({ base: path, ...parts })), limit)
    },
  }
}

/** A name as one segment of a path. `.` and `..` are quoted, so that they name nothing and do not change the path. */
function pathWord(name: string): string {
  return name === '.' || name === '..' ? encodeURIComponent(`"${name}"`) : encodeURIComponent(name)
}

/** The API of a node whose requests wait for their turn, except the stream of changes, which has no end. */
function limitedApi(api: NodeApi, limit: RequestLimit): NodeApi {
  return {
    status: (signal) => limit.run(() => api.status(signal), signal),
    services: (signal) => limit.stream(() => api.services(signal), signal),
    entries: (service, signal) => limit.stream(() => api.entries(service, signal), signal),
    traffic: (service, signal) => limit.stream(() => api.traffic(service, signal), signal),
    changes: (signal) => api.changes(signal),
    explain: (query, signal) => limit.run(() => api.explain(query, signal), signal),
  }
}

/** Limits how many requests run at the same time; the others wait for their turn, in order. */
export class RequestLimit {
  #free: number
  readonly #waiting = new Set<() => void>()

  constructor(max: number) {
    this.#free = max
  }

  /** Runs a task when it is its turn. Throws what it throws, or the reason of the signal before its turn. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#turn(signal)
    try {
      return await task()
    } finally {
      this.#end()
    }
  }

  /** The same for a stream, which takes its turn until it ends. */
  async *stream<T>(source: () => AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
    await this.#turn(signal)
    try {
      yield* source()
    } finally {
      this.#end()
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#free > 0) {
      this.#free--
      return
    }
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        this.#waiting.delete(start)
        reject(signal.reason as Error)
      }
      this.#waiting.add(start)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  #end(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#free++
      return
    }
    this.#waiting.delete(next)
    next()
  }
}

/** What the page reads of objects of the API. */
export interface NodeObject {
  readonly metadata: { readonly name: string }
  readonly status?: {
    readonly conditions?: readonly ConditionMessage[]
    readonly addresses?: readonly { readonly type?: string; readonly address?: string }[]
  }
}

interface ConditionMessage {
  readonly type?: string
  /** True, False or Unknown. */
  readonly status?: string
  readonly reason?: string
  readonly message?: string
}

export interface PodObject {
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly nodeName?: string; readonly hostNetwork?: boolean }
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly podIPs?: readonly { readonly ip?: string }[]
  }
}

interface EndpointSliceObject {
  readonly endpoints?: readonly { readonly hints?: object }[]
}

/** One page of a list. */
interface ObjectList<T> {
  readonly metadata?: { readonly continue?: string }
  readonly items?: readonly T[]
}
