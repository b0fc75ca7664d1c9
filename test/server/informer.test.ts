import { setTimeout as delay } from 'node:timers/promises'
import {
  CoreV1Api,
  KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startEtcd } from '../support/etcd/etcd-process.ts'
import { hasEtcd } from '../support/etcd/has-etcd.ts'
import {
  type OrchServerProcess,
  startOrchServer,
} from '../support/orchserver/orch-server-process.ts'

const HERE = { namespace: 'default' }
const DEADLINE = { timeout: 90_000, interval: 20 }

/** How many writes of each kind are acknowledged before each kill. */
const KILLS = [30, 60]

const DRIVERS = [
  { driver: 'embedded', start: () => startOrchServer() },
  ...(hasEtcd() ? [{ driver: 'etcd', start: startOnEtcd }] : []),
]

test.each(DRIVERS)(
  'informers resume across kill -9 and lose nothing, on $driver',
  async ({ start }) => {
    await using server = await start()
    const config = new KubeConfig()
    config.loadFromFile(server.kubeconfig)
    const api = config.makeApiClient(CoreV1Api)
    const services = await inform(config, 'services', () => api.listNamespacedService(HERE))
    const endpoints = await inform(config, 'endpoints', () => api.listNamespacedEndpoints(HERE))
    const stop = new AbortController()
    const writers = Promise.all([
      writeServices(api, services.written, stop.signal),
      writeEndpoints(api, endpoints.written, stop.signal),
    ])
    for (const writes of KILLS) {
      const sets = [services.written, endpoints.written]
      await vi.waitUntil(() => sets.every((set) => set.size >= writes), DEADLINE)
      await server.kill()
      await server.start()
    }
    stop.abort()
    await writers
    for (const { isCurrent, written, seen, listed } of [services, endpoints]) {
      await isCurrent()
      expect([...written.difference(seen)]).toEqual([])
      expect(listed).toHaveBeenCalledOnce()
    }
  },
)

async function startOnEtcd(): Promise<OrchServerProcess> {
  const etcd = await startEtcd()
  onTestFinished(() => etcd[Symbol.asyncDispose]())
  return startOrchServer({ flags: [`--etcd-servers=${etcd.endpoint}`, '--etcd-prefix=/orch'] })
}

/** The library's informer, started again after errors as its examples do. */
async function inform(
  config: KubeConfig,
  resource: string,
  list: () => Promise<KubernetesListObject<KubernetesObject>>,
) {
  const listed = vi.fn(list)
  const informer = makeInformer(config, `/api/v1/namespaces/default/${resource}`, listed)
  onTestFinished(() => informer.stop())
  const seen = new Set<string>()
  informer.on('change', (object) => seen.add(revisionOf(object)))
  informer.on('error', () => void delay(20).then(() => informer.start()))
  await informer.start()
  const isCurrent = (): Promise<void> =>
    vi.waitFor(async () => {
      const { items } = await list()
      expect(items).not.toEqual([])
      expect(informer.list().map(revisionOf).sort()).toEqual(items.map(revisionOf).sort())
    }, DEADLINE)
  return { seen, listed, isCurrent, written: new Set<string>() }
}

/** Creates, changes and, every third time, deletes; notes what is acknowledged, whatever fails. */
async function writeServices(api: CoreV1Api, written: Set<string>, stop: AbortSignal) {
  for (let i = 0; !stop.aborted; i++) {
    const body = { metadata: { name: `web-${i}` }, spec: { ports: [{ port: 80 }] } }
    const one = { ...HERE, name: `web-${i}` }
    try {
      written.add(revisionOf(await api.createNamespacedService({ ...HERE, body })))
      const patch = [{ op: 'add', path: '/metadata/labels', value: { turn: `${i}` } }]
      written.add(revisionOf(await api.patchNamespacedService({ ...one, body: patch })))
      if (i % 3 === 0) await api.deleteNamespacedService(one)
    } catch {
      await delay(5)
    }
  }
}

async function writeEndpoints(api: CoreV1Api, written: Set<string>, stop: AbortSignal) {
  const metadata = { name: 'by-hand' }
  for (let i = 0; !stop.aborted; i++) {
    const addresses = [{ ip: `10.1.${i >> 8}.${i & 255}` }]
    const body = { metadata, subsets: [{ addresses, ports: [{ port: 80 }] }] }
    const put = api.replaceNamespacedEndpoints({ ...HERE, name: 'by-hand', body })
    await put.then(
      (object) => void written.add(revisionOf(object)),
      () => delay(5),
    )
  }
}

function revisionOf({ metadata }: KubernetesObject): string {
  return metadata?.resourceVersion ?? ''
}
