import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConnectOutcome, ConnectRequest, Transport } from '../agent/protocol.ts'
import { type Api, createApi } from './api.ts'
import { createApiServer, defaultApiKind } from './api-process.ts'
import { type ApiKind, type ApiServer } from './api-server.ts'
import { type Beyond, createBeyond, SINK } from './beyond.ts'
import { createDaemon, type Daemon } from './daemon.ts'
import { createKubeApiserver } from './kube-apiserver.ts'
import { labPrefix, removeLab, removeLeftovers } from './leftovers.ts'
import { createNodeCommands, type NodeCommands } from './node-commands.ts'
import { createOrchServer, isOrchServer } from './orch-server.ts'
import { hostNet, isV6, NODE_ADDRESSES, NODE_NAME, OUTSIDE } from './plan.ts'
import { createPods, type Pods } from './pods.ts'
import { closeSites, type Site } from './site.ts'
import { buildTopology } from './topology.ts'

export interface LabOptions {
  /** Which API server; see `defaultApiKind`. */
  readonly api?: ApiKind
  /** Whether bridged packets pass iptables on the node (bridge-nf-call-iptables); true unless given. */
  readonly bridgeNetfilter?: boolean
  /** Labels of the Node object. */
  readonly nodeLabels?: Readonly<Record<string, string>>
}

/** Who sends: a pod of the node, a client beyond the cluster, or the node itself. */
export type LabHost = 'pod' | 'outside' | 'node' | 'world'

export type Attempt = Omit<ConnectRequest, 'protocol'> & { readonly protocol?: Transport }

/** One node with everything around it. Every method waits until it has taken effect. */
export interface Lab {
  readonly node: Site
  readonly world: Site
  readonly outside: Site
  readonly pods: Pods
  readonly beyond: Beyond
  readonly apiServer: ApiServer
  readonly api: Api
  readonly daemon: Daemon
  /** Runs commands of node-proxy on the node, which need no process of their own. */
  readonly commands: NodeCommands
  /** Scratch folder, removed with the lab. */
  readonly folder: string
  /** Starts real listeners for an endpoint: in a pod of its own, or beyond the node. */
  serve(endpoint: Endpoint): Promise<void>
  /**
   * Connects from `place`. Before that, it starts a sink that answers packets which the proxy does not handle.
   */
  connect(place: LabHost, attempt: Attempt): Promise<ConnectOutcome[]>
  /** The namespace that has a source address; creates the namespace, or adds the address to it, on demand. */
  site(place: LabHost, source: string): Promise<Site>
  /** The first `count` of 131,072 clients outside (198.18.0.0/15), ready to send. */
  crowd(count: number): Promise<readonly string[]>
  /** Addresses that a masqueraded connection may come from. */
  nodeAddresses(): Promise<ReadonlySet<string>>
  /** Removes all objects, then pods, endpoints and sinks; keeps daemon and namespaces. */
  reset(): Promise<void>
  close(): Promise<void>
}

const CROWD = '198.18.0.0/15'

export interface Endpoint {
  readonly ip: string
  readonly local: boolean
  readonly ports: readonly { readonly protocol: Transport; readonly port: number }[]
}

/** Builds a lab; `close` removes it. The next start also removes what a crash left behind. */
export async function createLab(options: LabOptions = {}): Promise<Lab> {
  removeLeftovers()
  const prefix = labPrefix()
  const folder = mkdtempSync(join(tmpdir(), `${prefix}-`))
  const unguard = guard(prefix, folder)
  const { node, world, outside } = await buildTopology(prefix, {
    bridgeNetfilter: options.bridgeNetfilter ?? true,
  })
  const kind = options.api ?? defaultApiKind()
  const { apiServer, agent } = apiOf(kind, { node, world, folder })
  await apiServer.start()
  const api = createApi(agent, {
    url: apiServer.url,
    ca: apiServer.ca(),
    credential: apiServer.admin(),
  })
  await api.apply(nodeObject(options.nodeLabels ?? {}))
  const pods = createPods(prefix, node)
  const beyond = createBeyond(world)
  const commands = createNodeCommands(node.namespace)
  const daemon = createDaemon({
    node,
    api,
    folder,
    kubeconfigText: () => apiServer.kubeconfigFor('node-proxy'),
  })
  const outsideAddresses = new Set<string>([OUTSIDE.v4, OUTSIDE.v6])

  async function site(place: LabHost, source: string): Promise<Site> {
    if (place === 'pod') return pods.at(source)
    if (place === 'node') return node
    if (place === 'world') return world
    if (!outsideAddresses.has(source)) {
      outsideAddresses.add(source)
      const nodad = isV6(source) ? ' nodad' : ''
      await outside.namespace.ip([`addr replace ${hostNet(source)} dev eth0${nodad}`])
      await node.namespace.ip([`route replace ${hostNet(source)} dev eth0`])
    }
    return outside
  }

  return {
    node,
    world,
    outside,
    pods,
    beyond,
    apiServer,
    api,
    daemon,
    commands,
    folder,
    site,
    crowd: async (count) => {
      await outside.namespace.ip([`route replace local ${CROWD} dev lo`])
      await node.namespace.ip([`route replace ${CROWD} via ${OUTSIDE.v4} dev eth0 onlink`])
      return Array.from(
        { length: count },
        (_, i) => `198.${18 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`,
      )
    },
    nodeAddresses: async () => new Set(await addressesOf(node)),
    async serve({ ip, local, ports }) {
      for (const { protocol, port } of ports) {
        if (!local) await beyond.serve(protocol, ip, port)
        else await serveInPod(await pods.at(ip), ip, protocol, port)
      }
    },
    async connect(place, attempt) {
      const protocol = attempt.protocol ?? 'TCP'
      const { agent } = await site(place, attempt.source)
      const undo = await sink({ node, beyond, pods }, protocol, attempt)
      try {
        return await agent.call('connect', { ...attempt, protocol })
      } finally {
        await undo()
      }
    },
    async reset() {
      await api.clear()
      if (daemon.isRunning()) await daemon.synced()
      await pods.clear()
      await beyond.clear()
      await node.agent.call('unlistenAll', null)
    },
    async close() {
      await commands[Symbol.asyncDispose]()
      await daemon.kill()
      await apiServer.stop()
      await pods.close()
      await closeSites([node, world, outside])
      rmSync(folder, { recursive: true, force: true })
      unguard()
    },
  }
}

interface LabParts {
  readonly node: Site
  readonly world: Site
  readonly folder: string
}

/** The server, and the agent of the namespace where it is. */
function apiOf(kind: ApiKind, { node, world, folder }: LabParts) {
  if (kind === 'kube-apiserver') {
    return { apiServer: createKubeApiserver(node, folder), agent: node.agent }
  }
  if (isOrchServer(kind)) {
    return { apiServer: createOrchServer(node, kind, folder), agent: node.agent }
  }
  return { apiServer: createApiServer(world, kind), agent: world.agent }
}

async function serveInPod(pod: Site, ip: string, protocol: Transport, port: number): Promise<void> {
  const name = ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`
  await pod.agent.call('listen', { protocol, ip, port, name })
}

/** Starts a listener at the address to which the packet is sent; one on the node is removed afterwards. */
async function sink(
  { node, beyond, pods }: { node: Site; beyond: Beyond; pods: Pods },
  protocol: Transport,
  { destination: ip, port }: Attempt,
): Promise<() => Promise<void>> {
  if (pods.has(ip)) return async () => {}
  const isNodes = (await addressesOf(node)).includes(ip) || ip.startsWith('127.')
  if (!isNodes) {
    await beyond.absorb(protocol, ip, port)
    return async () => {}
  }
  const listener = { protocol, ip, port, name: SINK.node }
  const taken = await node.agent.call('listen', listener).then(
    () => false,
    () => true,
  )
  if (taken) return async () => {}
  return async () => {
    await node.agent.call('unlisten', listener)
  }
}

function addressesOf(node: Site): Promise<string[]> {
  return node.agent.call('addresses', null)
}

function nodeObject(labels: Readonly<Record<string, string>>) {
  const addresses = [NODE_ADDRESSES[0], '2001:db8::1/64'].map((address) => ({
    type: 'InternalIP',
    address: address.slice(0, address.indexOf('/')),
  }))
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: NODE_NAME, labels },
    spec: { podCIDR: '10.180.0.0/24', podCIDRs: ['10.180.0.0/24', 'fd00:10:180::/64'] },
    status: { addresses },
  }
}

/** Removes the lab's namespaces when this process ends before `close`. */
function guard(prefix: string, folder: string): () => void {
  const clean = (): void => {
    removeLab(prefix)
    rmSync(folder, { recursive: true, force: true })
  }
  const onSignal = (): void => process.exit(130)
  process.once('exit', clean)
  process.once('SIGINT', onSignal)
  process.once('SIGTERM', onSignal)
  return () => {
    process.off('exit', clean)
    process.off('SIGINT', onSignal)
    process.off('SIGTERM', onSignal)
  }
}
