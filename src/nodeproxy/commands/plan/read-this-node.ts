import { hostname } from 'node:os'
import { loadConnection } from '../../../client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../../client/http/api-client.ts'
import { causeOf } from '../../../client/http/failure.ts'
import { type ClusterEvent, ClusterStore } from '../../../cluster/cluster-store.ts'
import { type Clock, systemClock as clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  stringAt,
} from '../../../lib/json.ts'
import { type Random, systemRandom as random } from '../../../lib/random.ts'
import { describeFault } from '../../../lib/yaml.ts'
import type { Manifest } from '../../../manifests/manifests.ts'
import type { Problem } from '../../../settings/answers.ts'
import { readConfigurationFile } from '../../../settings/configuration-file.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createClusterWatcher } from '../../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../../watch/feed.ts'
import type { CommandLine } from '../../config/command-line.ts'
import { MODES } from '../../config/fields/mode-registry.ts'
import { parseFlags } from '../../config/flags.ts'
import { type LoadedConfiguration, loadConfiguration } from '../../config/load.ts'
import { SETTINGS_TABLE } from '../../config/settings-table.ts'
import { nodeNameOf, ThisNode } from '../../engine/this-node.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { loadedTables } from '../../kernel/loaded-tables.ts'
import { openKernel } from '../../kernel/open-kernel.ts'
import { readRights } from '../../kernel/rights.ts'
import { driversOf, kernelFacts } from '../../modes/open-modes.ts'
import { checkStart } from '../../process/check-start.ts'
import { keepAlive } from '../../process/process-settings.ts'
import { type ClusterChanges, changesOf } from './cluster-changes.ts'
import type { NodePlan } from './node-plan.ts'
import { planNode } from './plan-node.ts'

/** For all lists together. */
const DEADLINE_MS = 60_000
/** After the first request that failed. */
const FAILED_MS = 5_000
/** For the Node, which may be forbidden to read, and for Service ranges. */
const NODE_MS = 10_000

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
      drivers,
      node,
      nodeName,
      store,
      conntrack: kernel.conntrack,
      now: clock.now(),
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

/** The kernel with an iptables that never loads a table in order to read it, as the legacy variant would. */
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

/**
 * The selectors that the Services of these manifests have now, by `namespace/name`. A Service that cannot be read, or
 * does not exist, is left out. Needs the permission to list Services, which node-proxy has.
 */
async function readSelectors(
  client: Pick<ApiClient, 'get'>,
  manifests: readonly Manifest[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, JsonObject>> {
  const selectors = new Map<string, JsonObject>()
  for (const { object } of manifests) {
    if (stringAt(object, 'kind') !== 'Service') continue
    const namespace = stringAt(object, 'metadata', 'namespace') || 'default'
    const name = stringAt(object, 'metadata', 'name')
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/services`
    const listed = await client.get(path, {
      query: { fieldSelector: `metadata.name=${name}` },
      signal,
    })
    if (!listed.ok) continue
    const found = arrayAt(listed.value as Json, 'items')
      .filter(isJsonObject)
      .find((one) => stringAt(one, 'metadata', 'name') === name)
    if (found !== undefined)
      selectors.set(`${namespace}/${name}`, objectAt(found, 'spec', 'selector'))
  }
  return selectors
}

/** What `listCluster` uses. */
interface ListParts {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  readonly nodeName: string
  readonly proxyName: string | undefined
  /** Aborted: stops waiting. */
  readonly signal: AbortSignal
}

/** The cluster as the API server lists it. */
interface ListedCluster {
  readonly events: readonly ClusterEvent[]
  readonly problems: readonly WatchProblem[]
}

/** Lists what the daemon watches, with the daemon's watcher, then stops it. Throws NP_NODEPROXY_API_UNREACHABLE. */
async function listCluster(parts: ListParts): Promise<ListedCluster> {
  const { client, clock, signal } = parts
  const events: ClusterEvent[] = []
  const problems: WatchProblem[] = []
  const stop = new AbortController()
  let isListed = false
  let failure = 'it did not answer'
  let cancelGrace: (() => void) | undefined
  const end = () => stop.abort()
  const cancelDeadline = clock.after(DEADLINE_MS, end)
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  const watcher = createClusterWatcher({
    ...parts,
    nodeTimeoutMs: NODE_MS,
    onEvents: (batch) => void (isListed || events.push(...batch)),
    onProblem: (problem) => void problems.push(problem),
    onSynced() {
      isListed = true
      end()
    },
    reporter: {
      failed({ verb, resource }, given) {
        if (stop.signal.aborted) return
        failure = `cannot ${verb} ${resource}: ${causeOf(given)}`
        // All lists must arrive but those of the Node and of Service ranges.
        if (resource !== 'nodes' && resource !== 'servicecidrs')
          cancelGrace ??= clock.after(FAILED_MS, end)
      },
      succeeded: () => {},
    },
  })
  await watcher.run(stop.signal).finally(() => {
    cancelDeadline()
    cancelGrace?.()
    signal.removeEventListener('abort', end)
  })
  if (!isListed) throw unreachable(client.server, failure)
  return { events, problems }
}

function unreachable(server: string, failure: string): NodeProxyError {
  const message = `the cluster could not be listed from ${server}: ${failure}`
  return new NodeProxyError('NP_NODEPROXY_API_UNREACHABLE', message, {
    object: server,
    hint: 'give --kubeconfig or --config as node-proxy gets it, and check that the API server runs',
  })
}

/** What the daemon would be started with. */
interface DaemonFlags {
  readonly loaded: LoadedConfiguration
  readonly line: CommandLine
}

/** Loads the configuration that the daemon has with these flags. Throws NP_NODEPROXY_USAGE with every problem. */
export async function loadDaemonFlags(args: readonly string[]): Promise<DaemonFlags> {
  const flags = parseFlags(args)
  if (!flags.ok) throw wrongFlag(flags.problem)
  const { line } = flags
  const task = Object.entries({
    '--cleanup': line.cleanup,
    '--init-only': line.initOnly,
    '--version': line.version,
    '--write-config-to': line.writeConfigTo !== undefined,
  }).find(([, isGiven]) => isGiven)
  if (task !== undefined) {
    throw new NodeProxyError('NP_NODEPROXY_USAGE', `${task[0]} is not a flag of plan; leave it out`)
  }
  const file =
    line.config === undefined
      ? undefined
      : await readConfigurationFile(line.config, SETTINGS_TABLE.codes)
  const loaded = await loadConfiguration(file, line)
  if (!loaded.ok) throw wrong(loaded.problems)
  return { loaded, line }
}

function wrongFlag(problem: Problem): NodeProxyError {
  if (!problem.message.startsWith('unknown flag')) return wrong([problem])
  const hint = 'see node-proxy plan --help, and node-proxy --help for its other flags'
  return new NodeProxyError('NP_NODEPROXY_USAGE', `unknown option '${problem.field}'`, { hint })
}

function wrong(problems: readonly Problem[]): NodeProxyError {
  const message = problems.map((one) => `${describeFault(one)} (${one.code})`).join('; ')
  return new NodeProxyError('NP_NODEPROXY_USAGE', message)
}
