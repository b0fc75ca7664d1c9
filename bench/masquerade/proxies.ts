import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
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
import { ENDPOINT_NET } from '../lab/plan.ts'
import type { Topology } from '../lab/topology.ts'
import { ENDPOINTS, NODE_PORT } from './addresses.ts'
import type { Subject } from './subject.ts'

const READY_MS = 60_000
const PROGRAMS =
  process.env['NP_UPSTREAM_PROGRAMS'] ??
  fileURLToPath(new URL('../../node_modules/.cache/upstream', import.meta.url))
const KUBE_PROXY = join(PROGRAMS, 'kube-proxy')

/** node-proxy in a mode, with a value of `iptables.masqueradePorts`. */
export function nodeProxy(
  proxy: Proxy,
  masqueradePorts: 'keep' | 'random',
  folder: string,
): Subject {
  const backend = proxy === 'legacy' || proxy === 'nft' ? { backend: proxy } : {}
  return {
    name: `node-proxy ${proxy} ${masqueradePorts}`,
    async start({ node }: Topology) {
      const cluster = await clusterWithNodePort()
      const settings = { clusterCIDR: ENDPOINT_NET, iptables: { ...backend, masqueradePorts } }
      const daemon = startDaemon({ namespace: node, url: cluster.url, proxy, folder, settings })
      if (!(await daemon.untilReady(READY_MS))) throw new Error(daemon.complaints().join('\n'))
      return async () => {
        await daemon.stop()
        await cluster.stop()
      }
    },
  }
}

/** Kubernetes' own, where `npm run test:upstream` has built it. */
export function kubeProxy(): readonly Subject[] {
  if (!existsSync(KUBE_PROXY)) return []
  return [{ name: 'kube-proxy 1.20 iptables', start: startKubeProxy }]
}

async function startKubeProxy({ node }: Topology): Promise<() => Promise<void>> {
  const cluster = await clusterWithNodePort()
  const flags = [
    `--master=${cluster.url}`,
    `--cluster-cidr=${ENDPOINT_NET}`,
    '--proxy-mode=iptables',
  ]
  // The size of the table is the machine's; 0 leaves it.
  const lab = ['--hostname-override=bench-node', '--conntrack-max-per-core=0']
  const command = ['netns', 'exec', node, KUBE_PROXY, ...flags, ...lab]
  const child = spawn('ip', command, { stdio: 'ignore' })
  return async () => {
    const ended = once(child, 'exit')
    child.kill()
    await ended
    await cluster.stop()
  }
}

/** An API server with one Service that has a node port. */
async function clusterWithNodePort() {
  const cluster = await startCluster(ENDPOINTS)
  const service = serviceObject(0) as { readonly spec: { readonly ports: readonly object[] } }
  const ports = service.spec.ports.map((port) => ({ ...port, nodePort: NODE_PORT }))
  const objects = [
    [SERVICES_PATH, { ...service, spec: { ...service.spec, type: 'NodePort', ports } }],
    [SLICES_PATH, sliceObject(0, firstEndpoints(0, ENDPOINTS))],
  ] as const
  for (const [path, object] of objects) {
    const headers = { 'content-type': 'application/json' }
    const options = { method: 'POST', headers, body: JSON.stringify(object) } as const
    const { statusCode, body } = await request(cluster.url + path, options)
    const answer = await body.text()
    if (statusCode >= 300) throw new Error(`POST ${path}: ${statusCode} ${answer}`)
  }
  return cluster
}
