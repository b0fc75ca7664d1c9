import { join } from 'node:path'
import { openNftables } from '../../kernel/nftables/netlink-nftables.ts'
import { systemClock } from '../../lib/clock.ts'
import {
  type Agent,
  type AgentPlace,
  type Answer,
  type RequestSpec,
  startAgent,
} from '../agent/agent.ts'
import { type Cluster, openCluster, type Pods } from '../cluster/cluster.ts'
import type { Followed, PodState } from '../cluster/cluster-state.ts'
import type { Namespace } from '../network/namespace.ts'
import { buildTopology, NODE_NAME, POD_NETWORK } from '../network/topology.ts'
import type { SandboxOptions } from '../run/arguments.ts'
import { inspectionSocketOf, type Run } from '../run/run.ts'
import { Daemon, runDaemonOnce } from './daemon.ts'

/** Where a request comes from: the client, the node, or a pod by its name. */
export type Sender = 'client' | 'node' | `pod-${number}`

/** A running sandbox. */
export interface Sandbox {
  readonly run: Run
  readonly options: SandboxOptions
  readonly cluster: Cluster
  readonly daemon: Daemon
  /** Whether the kernel has nftables for IPv4. Debian's User-mode Linux has not. */
  readonly hasNftables: boolean
  send(sender: Sender, request: RequestSpec): Promise<Answer>
  /** Waits until the endpoints of every Service are its ready pods, at the API server and in the kernel. */
  settled(): Promise<void>
  /** Runs a command in the node. */
  onNode(command: readonly string[]): Promise<string>
  /** Stops the daemon, then runs `node-proxy --cleanup` in the node. */
  cleanUp(): Promise<void>
}

/**
 * Builds everything inside the run's control namespace, in which this process
 * runs; `stack` ends it again. The supervisor removes the namespaces.
 */
export async function openSandbox(
  run: Run,
  options: SandboxOptions,
  stack: AsyncDisposableStack,
): Promise<Sandbox> {
  const topology = await buildTopology(run.name)
  const [client, node, cluster] = await Promise.all([
    openAgent(topology.client, stack),
    openAgent(topology.node, stack),
    openCluster(run, topology.node, stack),
  ])
  const podAgents = new PodAgents(cluster.pods)
  stack.defer(() => podAgents.close())
  const daemon = startDaemon({ run, options, node: topology.node, agent: node, cluster })
  stack.defer(() => daemon.stop('SIGTERM'))
  const settled = async (): Promise<void> => {
    await cluster.state.served()
    await daemon.applied(watched(cluster.state.seen))
  }
  const agentOf = (sender: Sender) =>
    sender === 'client' ? client : sender === 'node' ? node : podAgents.of(sender)
  const sandbox: Sandbox = {
    run,
    options,
    cluster,
    daemon,
    hasNftables: await hasNftables(run),
    settled,
    send: async (sender, request) => sendFrom(await agentOf(sender), request),
    onNode: (command) => topology.node.exec(command),
    cleanUp: async () => {
      await daemon.stop('SIGTERM')
      await runDaemonOnce(topology.node, ['--cleanup', ...options.daemonFlags])
    },
  }
  await settled()
  return sandbox
}

/** Tries it, in the namespace of this process: there are kernels with the module and without tables. */
async function hasNftables({ name }: Run): Promise<boolean> {
  const nftables = openNftables(systemClock)
  try {
    const table = { family: 4, name: `${name}-probe` } as const
    const error = await nftables.commit([
      { do: 'addTable', table },
      { do: 'deleteTable', table },
    ])
    return error === undefined
  } catch {
    return false
  } finally {
    nftables.close()
  }
}

async function openAgent(namespace: Namespace, stack: AsyncDisposableStack): Promise<Agent> {
  const agent = await startAgent(namespace)
  stack.defer(() => agent.kill())
  return agent
}

interface DaemonParts {
  readonly run: Run
  readonly options: SandboxOptions
  readonly node: Namespace
  readonly agent: Agent
  readonly cluster: Cluster
}

function startDaemon({ run, options, node, agent, cluster }: DaemonParts): Daemon {
  const flags = [
    `--kubeconfig=${cluster.controlPlane.kubeconfig}`,
    `--hostname-override=${NODE_NAME}`,
    `--inspection-socket=${inspectionSocketOf(run)}`,
    `--proxy-mode=${options.mode}`,
    `--cluster-cidr=${POD_NETWORK}`,
    ...options.daemonFlags,
  ]
  return new Daemon({ node, agent, flags, logFile: join(run.folder, 'node-proxy.log') })
}

/** The newest revisions of the resources whose revisions the daemon reports. */
function watched(seen: ReadonlyMap<Followed, number>): ReadonlyMap<string, number> {
  return new Map([...seen].filter(([name]) => name !== 'pods' && name !== 'deployments'))
}

function sendFrom(agent: Agent | undefined, request: RequestSpec): Promise<Answer> {
  if (agent !== undefined) return agent.send(request)
  return Promise.resolve({ kind: 'failed', ms: 0, code: 'the sender is gone' })
}

/**
 * The agents that send requests on behalf of pods. Each is started when it is first needed, and again for a pod that
 * was replaced, because the new pod has another namespace.
 */
class PodAgents {
  readonly #pods: Pods
  readonly #agents = new Map<string, Promise<Agent>>()

  constructor(pods: Pods) {
    this.#pods = pods
  }

  async of(pod: string): Promise<Agent | undefined> {
    const state = this.#pods.state(pod)
    const agent = this.#agents.get(state.uid) ?? start(state)
    if (agent === undefined) return undefined
    this.#agents.set(state.uid, agent)
    return agent.catch(() => void this.#agents.delete(state.uid))
  }

  async close(): Promise<void> {
    const kill = async (starting: Promise<Agent>): Promise<void> => (await starting).kill()
    await Promise.allSettled([...this.#agents.values()].map(kill))
  }
}

/** Starts an agent in a pod. Undefined: the pod has no process whose namespaces could be entered. */
function start({ name, pid }: PodState): Promise<Agent> | undefined {
  return pid === undefined ? undefined : startAgent(insideOf(name, pid))
}

/** The way into the network and mount namespaces of a pod, which have its resolv.conf and the token of its account. */
function insideOf(name: string, pid: number): AgentPlace {
  const enter = ['nsenter', `--target=${pid}`, '--net', '--mount', '--']
  return { name, inside: (command) => [...enter, ...command] }
}
