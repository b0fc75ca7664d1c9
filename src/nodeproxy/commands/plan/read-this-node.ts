import { hostname } from 'node:os'
import { loadConnection } from '../../../client/connection/load-connection.ts'
import { createApiClient } from '../../../client/http/api-client.ts'
import type { ClusterEvent } from '../../../cluster/cluster-event.ts'
import { ClusterStore } from '../../../cluster/cluster-store.ts'
import { systemClock as clock } from '../../../lib/clock.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { systemRandom as random } from '../../../lib/random.ts'
import type { Manifest } from '../../../manifests/manifests.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import type { WatchProblem } from '../../../watch/problem.ts'
import { MODES } from '../../modes/mode-registry.ts'
import { loadedTables } from '../../wiring/cleanup/loaded-tables.ts'
import type { Kernel } from '../../wiring/kernel/kernel.ts'
import { openKernel } from '../../wiring/kernel/open-kernel.ts'
import { readRights } from '../../wiring/kernel/rights.ts'
import { driversOf, kernelFacts } from '../../wiring/modes/open-modes.ts'
import { nodeNameOf } from '../../wiring/node/node-identity.ts'
import { ThisNode } from '../../wiring/node/this-node.ts'
import { checkStart } from '../../wiring/startup/check-start.ts'
import { keepAlive } from '../../wiring/startup/keep-alive.ts'
import { type ListedCluster, listCluster } from './cluster/list-cluster.ts'
import { readSelectors } from './cluster/read-selectors.ts'
import type { DaemonFlags } from './load-daemon-flags.ts'
import { type ClusterChanges, changesOf } from './manifests/cluster-changes.ts'
import { planNode } from './plan-node.ts'
import type { NodePlan } from './report/node-plan.ts'

/** The arguments of a plan. */
export interface PlanRequest extends DaemonFlags {
  readonly version: string
  readonly manifests: readonly Manifest[]
  readonly deletions: readonly ClusterEvent[]
  readonly signal: AbortSignal
}

/** Plans for this node: lists the cluster, opens the kernel to read, and closes both. */
export async function planThisNode(request: PlanRequest): Promise<NodePlan> {
  const { config } = request.loaded
  const rights = readRights()
  const connect = () => {
    const { kubeconfig } = config.clientConnection
    const { master } = request.line
    return loadConnection({ kubeconfig, master, env: process.env, clock })
  }
  const start = await checkStart(config, { rights, connect })
  if (!start.ok) throw start.error
  const connection = start.connection ?? (await connect())
  const userAgent = `node-proxy-plan/${request.version}`
  const client = createApiClient({ connection, clock, userAgent })
  const nodeName = nodeNameOf(config, hostname())
  const { signal } = request
  const proxyName = config.proxyName === '' ? undefined : config.proxyName
  const { listed, selectors } = await keepAlive(async () => {
    try {
      const listing = await listCluster({ client, clock, random, nodeName, proxyName, signal })
      return {
        listed: listing,
        selectors: await readSelectors(client, request.manifests, signal),
      }
    } finally {
      await client.close()
    }
  })
  const variant = config.iptables.backend
  const kernel = await openKernel({ clock, variant, rights, readOnly: true })
  try {
    return await planWith(withoutLoading(kernel), { request, listed, selectors, nodeName })
  } finally {
    await kernel.close()
  }
}

interface Known {
  readonly request: PlanRequest
  readonly listed: ListedCluster
  readonly selectors: ReadonlyMap<string, JsonObject>
  readonly nodeName: string
}

async function planWith(kernel: Kernel, known: Known): Promise<NodePlan> {
  const { request, listed, selectors, nodeName } = known
  const { config, warnings } = request.loaded
  const log = await createLogger({ verbosity: 0, pretty: false, stream: { write: () => {} } })
  const store = new ClusterStore()
  store.apply(listed.events)
  const facts = await kernelFacts(kernel)
  const configuration = { current: config }
  const node = new ThisNode({ configuration, nodeName, store, kernel, facts, log })
  const stop = await node.followAddresses(() => {})
  const changes = withDeletions(
    changesOf(request.manifests, { store, selectors }),
    request.deletions,
  )
  const drivers = driversOf(MODES, kernel, log)
  try {
    return await planNode({
      ...{ drivers, node, nodeName, store, conntrack: kernel.conntrack, now: clock.now() },
      changes: changes.events,
      notes: [
        ...warnings.map(({ message }) => message),
        ...(node.object === undefined ? [`the API server has no Node ${nodeName}`] : []),
        ...listed.problems.map(problemText),
        ...changes.notes,
      ],
    })
  } finally {
    stop()
    for (const driver of drivers) await driver.close()
  }
}

/** The legacy iptables would load a table into the kernel to read it. */
function withoutLoading(kernel: Kernel): Kernel {
  const { netfilter } = kernel
  if (!netfilter.ok) return kernel
  const { parts } = netfilter
  const iptables = loadedTables(parts.iptables)
  return { ...kernel, netfilter: { ...netfilter, parts: { ...parts, iptables } } }
}

function withDeletions(
  { events, notes }: ClusterChanges,
  deletions: readonly ClusterEvent[],
): ClusterChanges {
  return { events: [...events, ...deletions], notes }
}

function problemText({ resource, key, problems }: WatchProblem): string {
  const texts = problems.map(({ field, value, message }) => `${field}: ${value}: ${message}`)
  return `${resource} ${key}: ${texts.join('; ')}`
}
