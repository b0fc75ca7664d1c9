import { hostname } from 'node:os'
import { loadConnection } from '../../../client/connection/load-connection.ts'
import { type ApiClient, createApiClient } from '../../../client/http/api-client.ts'
import type { RequestReporter } from '../../../client/http/api-failures.ts'
import { causeOf } from '../../../client/http/failure.ts'
import { type ClusterEvent, ClusterStore } from '../../../cluster/cluster-store.ts'
import { type Clock, systemClock as clock, steadyClock } from '../../../lib/clock.ts'
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
import type { PolicyEvent } from '../../../policy/policy-content.ts'
import type { Problem } from '../../../settings/answers.ts'
import { readConfigurationFile } from '../../../settings/configuration-file.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createClusterWatcher } from '../../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../../watch/feed.ts'
import { createPolicyWatcher, describeRefusal } from '../../../watch/policy-watcher.ts'
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
import { changesOf, type Deletion } from './cluster-changes.ts'
import type { NodePlan } from './node-plan.ts'
import { planNode } from './plan-node.ts'
import { type PolicyChange, planPolicies, policiesAmong } from './plan-policies.ts'

/** For all lists together. */
const DEADLINE_MS = 60_000
/** After the first request that failed. */
const FAILED_MS = 5_000
/** For the Node, which may be forbidden to read, and for Service ranges. */
const NODE_MS = 10_000

export interface PlanRequest extends DaemonFlags {
  readonly version: string
  readonly manifests: readonly Manifest[]
  readonly deletions: readonly Deletion[]
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
  const known = await keepAlive(async () => {
    const parts = { client, clock, random, signal }
    try {
      return {
        listed: await listCluster({ ...parts, nodeName, proxyName }),
        selectors: await readSelectors(client, request.manifests, signal),
        policies: await plannedPolicies(request, nodeName, () => listPolicies(parts)),
      }
    } finally {
      await client.close()
    }
  })
  const variant = config.iptables.backend
  const kernel = await openKernel({ clock: steadyClock, variant, rights, readOnly: true })
  try {
    return await planWith(withoutLoading(kernel), { request, nodeName, ...known })
  } finally {
    await kernel.close()
  }
}

interface Known {
  readonly request: PlanRequest
  readonly listed: ListedCluster
  readonly selectors: ReadonlyMap<string, JsonObject>
  readonly policies: PlannedPolicies
  readonly nodeName: string
}

/** What changes of policies mean, and the manifests of other objects. */
interface PlannedPolicies {
  readonly isolations: NodePlan['isolations']
  readonly notes: readonly string[]
  readonly others: readonly Manifest[]
}

/** The cluster is listed for it only if there are changes of policies. */
async function plannedPolicies(
  { loaded: { config }, manifests, deletions }: PlanRequest,
  nodeName: string,
  list: () => Promise<ListedPolicies>,
): Promise<PlannedPolicies> {
  const { events, notes, others } = policiesAmong(manifests)
  const changes = [...events, ...deletions.filter(isOfPolicy)]
  if (changes.length === 0) return { isolations: [], notes, others }
  const { enforce } = config.networkPolicy
  if (enforce === false) {
    const why = 'networkPolicy.enforce is false: policies change nothing on this node'
    return { isolations: [], notes: [...notes, why], others }
  }
  const listed = await list()
  const isolations = planPolicies(nodeName, listed.events, changes)
  const unless =
    'policies matter where they are enforced: node-proxy status says whether they are here'
  const more = enforce === 'auto' && isolations.length > 0 ? [unless] : []
  return { isolations, notes: [...notes, ...listed.notes, ...more], others }
}

function isOfPolicy(deletion: Deletion): deletion is PolicyChange {
  return deletion.kind === 'policy' || deletion.kind === 'clusterPolicy'
}

async function planWith(kernel: Kernel, known: Known): Promise<NodePlan> {
  const { request, listed, selectors, policies, nodeName } = known
  const { config, warnings } = request.loaded
  const log = await createLogger({ verbosity: 0, pretty: false, stream: { write: () => {} } })
  const store = new ClusterStore()
  store.apply(listed.events)
  const facts = await kernelFacts(kernel)
  const configuration = { current: config }
  const node = new ThisNode({ configuration, nodeName, store, kernel, facts, clock, log })
  const stop = await node.followAddresses(() => {})
  const applied = changesOf(policies.others, { store, selectors })
  const deleted = request.deletions.filter((one) => !isOfPolicy(one))
  const drivers = driversOf(MODES, kernel, log)
  try {
    return await planNode({
      drivers,
      node,
      nodeName,
      store,
      conntrack: kernel.conntrack,
      now: clock.now(),
      changes: [...applied.events, ...deleted],
      isolations: policies.isolations,
      notes: [
        ...warnings.map(({ message }) => message),
        ...(node.object === undefined ? [`the API server has no Node ${nodeName}`] : []),
        ...listed.problems.map(problemText),
        ...applied.notes,
        ...policies.notes,
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

/** What lists the cluster. */
interface ListParts {
  readonly client: ApiClient
  readonly clock: Clock
  readonly random: Pick<Random, 'below'>
  /** Aborted: stops waiting. */
  readonly signal: AbortSignal
}

/** The cluster as the API server lists it. */
interface ListedCluster {
  readonly events: readonly ClusterEvent[]
  readonly problems: readonly WatchProblem[]
}

/** Lists what the daemon watches, with the daemon's watcher, then stops it. Throws NP_NODEPROXY_API_UNREACHABLE. */
async function listCluster(
  parts: ListParts & { readonly nodeName: string; readonly proxyName: string | undefined },
): Promise<ListedCluster> {
  const events: ClusterEvent[] = []
  const problems: WatchProblem[] = []
  // All lists must arrive but those of the Node and of Service ranges.
  await untilListed(parts, ['nodes', 'servicecidrs'], (on) =>
    createClusterWatcher({
      ...parts,
      nodeTimeoutMs: NODE_MS,
      onEvents: (batch) => void events.push(...batch),
      onProblem: (problem) => void problems.push(problem),
      onSynced: () => on.listed(),
      reporter: on,
    }),
  )
  return { events, problems }
}

/** What policies depend on, as the API server lists it. */
interface ListedPolicies {
  readonly events: readonly PolicyEvent[]
  /** What could not be read: one sentence each. */
  readonly notes: readonly string[]
}

/** Lists what the daemon watches to enforce policies, as `listCluster`. What it may not read is a note. */
async function listPolicies(parts: ListParts): Promise<ListedPolicies> {
  const events: PolicyEvent[] = []
  const notes: string[] = []
  await untilListed(parts, [], (on) =>
    createPolicyWatcher({
      ...parts,
      onEvents: (batch) => void events.push(...batch),
      onProblem: (problem) => void notes.push(problemText(problem)),
      onSynced: () => on.listed(),
      reporter: on,
      onPermitted: () => undefined,
      onRefused(refusal) {
        notes.push(`policies cannot be planned: ${describeRefusal(refusal)}`)
        on.listed()
      },
      onClusterPoliciesForbidden: (failure) => {
        if (failure === undefined) return
        notes.push(describeRefusal({ resources: ['clusternetworkpolicies'], failure }))
      },
    }),
  )
  return { events, notes }
}

/** What a watcher reports while it lists. */
interface ListingReporter extends RequestReporter {
  listed(): void
}

/**
 * Runs a watcher until it has listed everything, then stops it. `optional`: resources whose failures nothing waits for.
 * Throws NP_NODEPROXY_API_UNREACHABLE.
 */
async function untilListed(
  { client, clock, signal }: Pick<ListParts, 'client' | 'clock' | 'signal'>,
  optional: readonly string[],
  open: (on: ListingReporter) => { run(signal: AbortSignal): Promise<void> },
): Promise<void> {
  const stop = new AbortController()
  const either = AbortSignal.any([signal, stop.signal])
  const end = () => stop.abort()
  let isListed = false
  let failure = 'it did not answer'
  let cancelGrace: (() => void) | undefined
  const cancelDeadline = clock.after(DEADLINE_MS, end)
  const watcher = open({
    listed() {
      isListed = true
      end()
    },
    failed({ verb, resource }, given) {
      if (either.aborted) return
      failure = `cannot ${verb} ${resource}: ${causeOf(given)}`
      if (!optional.includes(resource)) cancelGrace ??= clock.after(FAILED_MS, end)
    },
    succeeded: () => {},
  })
  await watcher.run(either).finally(() => {
    cancelDeadline()
    cancelGrace?.()
  })
  if (!isListed) throw unreachable(client.server, failure)
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
