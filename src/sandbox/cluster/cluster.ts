import { createApiServer } from '../../apiserver/api-server.ts'
import { type ApiClient, createApiClient } from '../../client/api-client.ts'
import { connectionTo } from '../../client/load-connection.ts'
import { systemClock } from '../../lib/clock.ts'
import { createMemoryStore } from '../../storage/memory/memory-store.ts'
import type { Namespace } from '../network/namespace.ts'
import { API_PORT, CONTROL_IP, SERVICE_NETWORK } from '../network/plan.ts'
import { EndpointsController } from './endpoints-controller.ts'
import { readManifests } from './manifests.ts'
import { nodeObject } from './node-object.ts'
import { Pods } from './pods.ts'
import { Writer } from './writer.ts'

/** A small cluster: an API server, its objects, three pods, and who looks after them. */
export interface Cluster {
  /** URL of the API server, as the node reaches it. */
  readonly url: string
  readonly api: ApiClient
  readonly writer: Writer
  readonly pods: Pods
  /** Waits until all EndpointSlices are written. Throws what went wrong in the background. */
  settled(): Promise<void>
}

/** Serves the API from this process and fills it; `stack` closes it again. */
export async function openCluster(
  podNamespaces: ReadonlyMap<string, Namespace>,
  stack: AsyncDisposableStack,
): Promise<Cluster> {
  const problems: unknown[] = []
  const onError = (error: unknown): void => void problems.push(error)
  const url = await serveApi(stack, onError)
  const api = createApiClient({
    connection: connectionTo(url),
    clock: systemClock,
    userAgent: 'node-proxy-sandbox',
  })
  stack.defer(() => api.close())
  const writer = new Writer(api)
  const controller = new EndpointsController({
    ...{ client: api, writer, onError },
    pods: () => pods.states(),
  })
  const pods = new Pods({
    ...{ namespaces: podNamespaces, writer, onError },
    onChange: () => controller.podsChanged(),
  })
  const stop = new AbortController()
  const following = controller.run(stop.signal).catch(onError)
  stack.defer(async () => {
    stop.abort()
    await following
  })
  stack.defer(() => pods.close())
  await writer.create(nodeObject())
  await pods.open()
  for (const object of readManifests()) await writer.create(object)
  return {
    ...{ url, api, writer, pods },
    settled: async () => {
      await controller.settled(writer.written.get('services') ?? 0)
      if (problems.length > 0) throw problems[0]
    },
  }
}

async function serveApi(
  stack: AsyncDisposableStack,
  onError: (error: unknown) => void,
): Promise<string> {
  const store = createMemoryStore()
  stack.defer(() => store.close())
  const server = createApiServer({ store, serviceAddressRanges: [SERVICE_NETWORK], onError })
  stack.defer(() => server.close())
  const { url } = await server.listen({ host: CONTROL_IP, port: API_PORT })
  return url
}
