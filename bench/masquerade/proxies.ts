import { request } from 'undici'
import { startCluster } from '../cluster/cluster.ts'
import {
  firstEndpoints,
  SERVICES_PATH,
  SLICES_PATH,
  serviceObject,
  sliceObject,
} from '../cluster/objects.ts'
import { type Proxy, startDaemon } from '../daemon/daemon.ts'
import {
  hasKubeProxy,
  KUBE_PROXY_NAME,
  startKubeProxy as startKubeProxyIn,
} from '../daemon/kube-proxy.ts'
import { ENDPOINT_NET } from '../lab/plan.ts'
import type { Topology } from '../lab/topology.ts'
import { ENDPOINTS, nodePortOf } from './addresses.ts'
import type { Subject, SubjectOptions } from './subject.ts'

const READY_MS = 300_000

/** Modes, with the variants of iptables as modes of their own. */
const MODES: Readonly<Record<Proxy, string>> = {
  nft: 'iptables',
  legacy: 'iptables-legacy',
  nftables: 'nftables',
  ipvs: 'ipvs',
  userspace: 'userspace',
}

/** node-proxy in a mode, with a value of `iptables.masqueradePorts` if that has an effect in the mode. */
export function nodeProxy(proxy: Proxy, masqueradePorts?: 'keep' | 'random'): Subject {
  const backend = proxy === 'legacy' || proxy === 'nft' ? { backend: proxy } : {}
  const ports = masqueradePorts === undefined ? {} : { masqueradePorts }
  return {
    name: ['node-proxy', MODES[proxy], ...Object.values(ports)].join(' '),
    connectsItself: proxy === 'userspace',
    async start({ node }: Topology, { loads, folder }: SubjectOptions) {
      const cluster = await clusterWithNodePorts(loads)
      const settings = { clusterCIDR: ENDPOINT_NET, iptables: { ...backend, ...ports } }
      const daemon = startDaemon({ namespace: node, url: cluster.url, proxy, folder, settings })
      if (!(await daemon.untilReady(READY_MS))) throw new Error(daemon.complaints().join('\n'))
      return async () => {
        await daemon.stop()
        await cluster.stop()
      }
    },
  }
}

/** kube-proxy, if `npm run test:upstream` has built it. */
export function kubeProxy(): readonly Subject[] {
  if (!hasKubeProxy()) return []
  return [{ name: `${KUBE_PROXY_NAME} iptables`, start: startKubeProxy }]
}

async function startKubeProxy(
  { node }: Topology,
  { loads }: SubjectOptions,
): Promise<() => Promise<void>> {
  const cluster = await clusterWithNodePorts(loads)
  const place = { namespace: node, url: cluster.url, clusterCidr: ENDPOINT_NET }
  const proxy = startKubeProxyIn(place)
  return async () => {
    await proxy.stop()
    await cluster.stop()
  }
}

/** An API server with a Service for each load, which has a node port. */
async function clusterWithNodePorts(loads: number) {
  const cluster = await startCluster(ENDPOINTS)
  for (let load = 0; load < loads; load++) {
    const service = serviceObject(load) as { readonly spec: { readonly ports: readonly object[] } }
    const ports = service.spec.ports.map((port) => ({ ...port, nodePort: nodePortOf(load) }))
    const spec = { ...service.spec, type: 'NodePort', ports }
    await post(cluster.url + SERVICES_PATH, { ...service, spec })
    await post(cluster.url + SLICES_PATH, sliceObject(load, firstEndpoints(load, ENDPOINTS)))
  }
  return cluster
}

async function post(url: string, object: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const options = { method: 'POST', headers, body: JSON.stringify(object) } as const
  const { statusCode, body } = await request(url, options)
  const answer = await body.text()
  if (statusCode >= 300) throw new Error(`POST ${url}: ${statusCode} ${answer}`)
}
