import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ApiClient } from '../client/api-client.ts'
import { type Agent, startAgent } from './agent/agent.ts'
import type { Answer, Question } from './agent/protocol.ts'
import type { SandboxOptions } from './arguments.ts'
import { type Cluster, openCluster } from './cluster/cluster.ts'
import { REPLICAS } from './cluster/endpoints.ts'
import type { Pods } from './cluster/pods.ts'
import { Daemon, runDaemonOnce } from './daemon/daemon.ts'
import { kubeconfig } from './daemon/kubeconfig.ts'
import type { Namespace } from './network/namespace.ts'
import { NODE_NAME, POD_NETWORK } from './network/plan.ts'
import { buildTopology } from './network/topology.ts'
import type { Run } from './run.ts'

/** Where a request comes from: the client, the node, or a pod by its name. */
export type Place = 'client' | 'node' | `pod-${number}`

/** A running sandbox. */
export interface Sandbox {
  readonly run: Run
  readonly options: SandboxOptions
  readonly api: ApiClient
  readonly pods: Pods
  readonly daemon: Daemon
  ask(place: Place, question: Question): Promise<Answer>
  /** Uses only so many of the pods behind a Service, and waits until the kernel knows. */
  scale(service: string, replicas: number): Promise<void>
  /** Waits until the kernel holds everything written so far. Throws what went wrong meanwhile. */
  settled(): Promise<void>
  /** Runs a command in the node. */
  onNode(command: readonly string[]): Promise<string>
  /** Stops the daemon, then runs `node-proxy --cleanup` in the node. */
  cleanUp(): Promise<void>
}

/**
 * Builds everything inside the run's control namespace, in which this process
 * runs; `stack` ends it again. The namespaces are the supervisor's.
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
    openCluster(topology.pods, stack),
  ])
  const daemon = startDaemon({ run, options, node: topology.node, agent: node, cluster })
  stack.defer(() => daemon.stop('SIGTERM'))
  const settled = async (): Promise<void> => {
    await cluster.settled()
    await daemon.applied(watched(cluster.writer.written))
  }
  const agents: Readonly<Record<string, Agent>> = { client, node }
  const sandbox: Sandbox = {
    ...{ run, options, daemon, settled },
    ...{ api: cluster.api, pods: cluster.pods },
    ask: (place, question) => askFrom(agents[place] ?? cluster.pods.agent(place), question),
    scale: async (service, replicas) => {
      const annotations = { [REPLICAS]: String(replicas) }
      await cluster.writer.patch('Service', service, { metadata: { annotations } })
      await settled()
    },
    onNode: (command) => topology.node.exec(command),
    cleanUp: async () => {
      await daemon.stop('SIGTERM')
      await runDaemonOnce(topology.node, ['--cleanup', ...options.daemonFlags])
    },
  }
  await settled()
  return sandbox
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
  const file = join(run.folder, 'kubeconfig')
  writeFileSync(file, kubeconfig(cluster.url))
  const flags = [
    `--kubeconfig=${file}`,
    `--hostname-override=${NODE_NAME}`,
    `--proxy-mode=${options.mode}`,
    `--cluster-cidr=${POD_NETWORK}`,
    ...options.daemonFlags,
  ]
  return new Daemon({ node, agent, flags, logFile: join(run.folder, 'node-proxy.log') })
}

/** The resources whose revisions the daemon reports back. */
function watched(written: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map([...written].filter(([name]) => ['services', 'endpointslices'].includes(name)))
}

function askFrom(agent: Agent | undefined, question: Question): Promise<Answer> {
  if (agent !== undefined) return agent.ask(question)
  return Promise.resolve({ kind: 'failed', ms: 0, code: 'the sender is gone' })
}
