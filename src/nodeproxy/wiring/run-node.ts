import type { ApiClient } from '../../client/http/api-client.ts'
import { ApiFailures } from '../../client/http/api-failures.ts'
import { type ApiFailure, causeOf } from '../../client/http/failure.ts'
import type { ReflectorState } from '../../client/reflector/reflector-state.ts'
import type { IptablesVariant } from '../../kernel/iptables/iptables.ts'
import { openWorkerResponder } from '../../kernel/neighbours/worker-responder.ts'
import { openNftables } from '../../kernel/nftables/netlink-nftables.ts'
import { systemClock as clock, monotonicMs, steadyClock } from '../../lib/clock.ts'
import type { NodeProxyError } from '../../lib/error.ts'
import { releaseFilePages, releaseMemoryOf } from '../../lib/process.ts'
import { systemRandom as random } from '../../lib/random.ts'
import { sampleEventLoopDelay } from '../../telemetry/event-loop-delay.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import { assessReadiness, type ReadinessFacts } from '../../telemetry/health/readiness.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import {
  createClusterWatcher,
  type WatchState,
  watchedResources,
} from '../../watch/cluster-watcher.ts'
import { PROBE } from '../../watch/server-probe.ts'
import { Announcements } from '../announcement/announcements.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { Launch } from '../config/load.ts'
import { startInspection } from '../inspection/start-inspection.ts'
import { type Kernel, presentFamilies } from '../kernel/kernel.ts'
import { openPolicySockets } from '../kernel/policy-tables.ts'
import type { LoopbackRouting } from '../loopback/loopback-routing.ts'
import type { OpenModes } from '../modes/open-modes.ts'
import { watchProxies } from '../observation/foreign-proxies.ts'
import { refreshGauges } from '../observation/gauges.ts'
import { NetworkPolicies } from '../policy/network-policies.ts'
import { applyProcessSettings } from '../process/process-settings.ts'
import type { Ownership } from '../process/take-ownership.ts'
import { type PageSources, type StatusPage, startStatusServers } from '../servers/status-servers.ts'
import { ServiceTrafficGauges } from '../traffic/service-traffic-gauges.ts'
import { TrafficCounters } from '../traffic/traffic-counters.ts'
import { Configuration } from './configuration.ts'
import { NodeProxy } from './node-proxy.ts'

/** The opened parts of a daemon. */
export interface NodeParts extends OpenModes {
  readonly launch: Launch
  readonly kernel: Kernel
  readonly loopback: LoopbackRouting
  readonly ownership: Ownership
  readonly client: ApiClient
  readonly metrics: Metrics
  readonly conditions: Conditions
  readonly nodeName: string
}

/** A daemon that is running. */
export interface RunningNode {
  /** Reads the configuration file again, at SIGHUP. */
  reread(): void
  /** Stops everything; the kernel keeps its rules. */
  close(): Promise<void>
}

/**
 * Starts everything that lives as long as the daemon.
 * @throws the error of a part that cannot be started; the others are stopped then
 */
export async function runNode({ launch, kernel, ...parts }: NodeParts): Promise<RunningNode> {
  const { log, version } = launch
  const { client, nodeName, metrics, conditions, modes } = parts
  metrics.buildInfo.set({ version, node_version: process.version }, 1)
  const apiFailures = new ApiFailures({ log, metrics, clock, server: client.server })
  parts.ownership.follow((message) => {
    if (message === undefined) conditions.clear('owner-lock')
    else conditions.raise('owner-lock', { message, blocksReadiness: false })
  })
  const consider = (config: NodeProxyConfiguration) => modes.consider(config)
  const configuration = new Configuration({ launch, clock, metrics, conditions, consider })
  modes.current.tune(launch.config)
  const shared = { configuration, conditions, apiFailures, metrics }
  const proxy = await NodeProxy.create({ ...parts, ...shared, kernel, log, clock, steadyClock })
  const { netfilter } = kernel
  const backend = netfilter.ok ? netfilter.parts.iptables.backend : 'none'
  try {
    return await follow({ launch, client, nodeName }, { proxy, ...shared, kernel, backend })
  } catch (error) {
    await proxy.stop()
    throw error
  }
}

const RANGES_UNKNOWN =
  'the Service ranges are not known, because ServiceCIDR objects cannot be listed: connections to addresses that no Service has are not refused; set serviceCIDRs, or permit to list and watch servicecidrs of networking.k8s.io'

interface Parts {
  readonly proxy: NodeProxy
  readonly configuration: Configuration
  readonly conditions: Conditions
  readonly apiFailures: ApiFailures
  readonly metrics: Metrics
  readonly kernel: Pick<Kernel, 'families' | 'rights' | 'traces' | 'conntrack' | 'addresses'>
  readonly backend: StatusParts['backend']
}

/** What runs beside the proxy, on the same cluster and configuration. */
type Beside = Pick<StatusParts, 'policies' | 'announcements'>

/** Opens the status pages, and watches the cluster and the configuration file. */
async function follow(
  { launch, client, nodeName }: Pick<NodeParts, 'launch' | 'client' | 'nodeName'>,
  parts: Parts,
): Promise<RunningNode> {
  const { log } = launch
  const { proxy, configuration, conditions, metrics, kernel } = parts
  const policies = createPolicies({ launch, client, nodeName }, parts)
  const announcements = createAnnouncements({ launch, client, nodeName }, parts)
  const beside = { policies, announcements }
  const watcher = createWatcher({ launch, client, nodeName }, { ...parts, ...beside })
  const traffic = new TrafficCounters({ clock: steadyClock, mode: () => proxy.running?.mode })
  const sources = statusPages({ ...parts, ...beside, traffic, watch: () => watcher.state() })
  const servers = await startStatusServers({
    config: launch.config,
    sources,
    clock,
    ...pageConditions(conditions),
    onError: (error) => log.error({ err: error }, 'answering a request for a status page failed'),
  })
  const heldPorts = () => servers.waitingPorts
  const stopLooking = watchProxies({ ...kernel, conditions, clock, log, heldPorts })
  const inspected = { launch, client, nodeName, proxy, ...beside, conditions, traffic }
  const inspection = await startInspection({ ...inspected, pages: sources })
  policies.start()
  announcements.start()
  const stop = new AbortController()
  const watching = watcher.run(stop.signal)
  const stopSampling = sampleEventLoopDelay(metrics.eventLoopDelay)
  const keepMemory = releaseMemoryOf({ isOver: () => proxy.isApplied }, clock)
  followConfiguration({ proxy, ...beside }, configuration, launch)
  return {
    reread: () => configuration.reread(),
    async close() {
      // The addresses go to other nodes while this one still forwards.
      await announcements.stop()
      stop.abort()
      stopSampling()
      keepMemory()
      stopLooking()
      configuration.close()
      const ends = [watching, servers.close(), inspection.close(), policies.stop(), proxy.stop()]
      await Promise.all(ends)
    },
  }
}

/** The watches of the cluster, with what they call. */
function createWatcher(
  { launch, client, nodeName }: Pick<NodeParts, 'launch' | 'client' | 'nodeName'>,
  { proxy, policies, announcements, ...parts }: Parts & Beside,
): ReturnType<typeof createClusterWatcher> {
  const { proxyName } = launch.config
  const watcher = createClusterWatcher({
    client,
    clock,
    random,
    nodeName,
    reporter: parts.apiFailures,
    proxyName: proxyName === '' ? undefined : proxyName,
    onEvents(events) {
      proxy.take(events, () => watcher.state())
      policies.takeCluster(events)
      announcements.takeCluster(events)
    },
    onSynced() {
      releaseFilePages()
      proxy.start()
      policies.clusterListed()
      announcements.clusterListed()
    },
    onProblem: (problem) => proxy.takeProblem(problem),
    onRangesRefused: (failure) => logUnknownRanges(failure, parts.configuration, launch),
  })
  return watcher
}

/** The enforcement of NetworkPolicies beside the proxy. */
function createPolicies(
  { launch, client, nodeName }: Pick<NodeParts, 'launch' | 'client' | 'nodeName'>,
  parts: Parts,
): NetworkPolicies {
  const { proxy, apiFailures: reporter } = parts
  return new NetworkPolicies({
    ...parts,
    client,
    nodeName,
    clock,
    steadyClock,
    random,
    log: launch.log,
    reporter,
    families: presentFamilies(),
    openSockets: () => openPolicySockets(clock),
    nodeAddresses: () => proxy.node.localAddresses,
    onProblem: (problem) => proxy.takeProblem(problem),
  })
}

/** The announcement of load balancer addresses beside the proxy. */
function createAnnouncements(
  { launch, client, nodeName }: Pick<NodeParts, 'launch' | 'client' | 'nodeName'>,
  parts: Parts,
): Announcements {
  const { proxy, kernel } = parts
  return new Announcements({
    ...parts,
    client,
    nodeName,
    clock,
    random,
    log: launch.log,
    monotonic: monotonicMs,
    addresses: kernel.addresses,
    openResponder: openWorkerResponder,
    openNftables: () => openNftables(clock),
    cluster: proxy.cluster,
    afterApply: (callback) => proxy.afterApply(callback),
    isRefused: () => proxy.health.report().failure !== undefined,
  })
}

function logUnknownRanges(
  failure: ApiFailure,
  configuration: Configuration,
  { log }: Pick<Launch, 'log'>,
): void {
  if (configuration.current.serviceCIDRs.length > 0) return
  log.info({ cause: causeOf(failure) }, RANGES_UNKNOWN)
}

function followConfiguration(
  { proxy, policies, announcements }: Pick<StatusParts, 'proxy'> & Beside,
  configuration: Configuration,
  { log, config }: Pick<Launch, 'log' | 'config'>,
): void {
  let before = config
  configuration.follow(() => {
    void applyProcessSettings(configuration.current, { log, before })
    before = configuration.current
    proxy.reconfigure()
    policies.reconfigure()
    announcements.reconfigure()
  })
}

/** Conditions for pages that cannot be served. They do not block readiness, because traffic does not depend on pages. */
function pageConditions(conditions: Conditions) {
  const reasonOf = (page: StatusPage) => `${page}-not-served`
  return {
    onBlocked: (page: StatusPage, { message, hint }: NodeProxyError) =>
      conditions.raise(reasonOf(page), {
        message: `${page}BindAddress is not served: ${message}; ${hint} (it is tried again)`,
        blocksReadiness: false,
      }),
    onListening: (page: StatusPage) => conditions.clear(reasonOf(page)),
  }
}

/** What the status pages read. */
interface StatusParts {
  readonly proxy: NodeProxy
  readonly policies: NetworkPolicies
  readonly announcements: Announcements
  readonly metrics: Metrics
  readonly configuration: Configuration
  readonly conditions: Pick<Conditions, 'current'>
  readonly apiFailures: Pick<ApiFailures, 'present'>
  /** The iptables variant; `none`: there is no iptables, or no right to use it. */
  readonly backend: IptablesVariant | 'none'
  readonly watch: () => WatchState
  readonly traffic: Pick<TrafficCounters, 'totals'>
}

/** The sources of the daemon's status pages, which are read at each request. */
function statusPages({ watch, traffic, ...parts }: StatusParts): PageSources {
  const { proxy, policies, announcements, metrics, configuration, conditions } = parts
  const { apiFailures, backend } = parts
  const serviceTraffic = new ServiceTrafficGauges(metrics)
  return {
    health: proxy.health,
    readiness: () =>
      assessReadiness({
        ...watchReadiness(watch(), apiFailures),
        applied: proxy.isApplied,
        kernel: proxy.health.report(),
        conditions: conditions.current(),
      }),
    metrics: {
      ...metrics,
      async text() {
        const state = watch()
        proxy.mark(state)
        refreshGauges(metrics, {
          running: proxy.running,
          watched: [...watchedResources(state), ...policies.watched()],
          changeTimes: proxy.changeTimes,
          health: proxy.health.report(),
          mode: { name: proxy.modeName, backend, draining: proxy.draining },
        })
        await policies.refreshMetrics()
        announcements.refreshMetrics()
        serviceTraffic.refresh(await traffic.totals().catch(() => undefined))
        return metrics.text()
      },
    },
    configz: () => configuration.describe(),
    mode: () => modeText(proxy),
  }
}

/** `iptables`; in userspace mode with the data path: `userspace (native)`. */
function modeText({ modeName, running }: Pick<NodeProxy, 'modeName' | 'running'>): string {
  const traffic = running?.mode.traffic
  return traffic === undefined ? modeName : `${modeName} (${traffic.dataPath})`
}

/** What readiness reads of the watches. A Node that can only be fetched, not watched, counts as connected. */
export function watchReadiness(
  watch: WatchState,
  apiFailures: Pick<ApiFailures, 'present'>,
): Pick<ReadinessFacts, 'connected' | 'synced' | 'apiFailures' | 'silence'> {
  const resources = watchedResources(watch)
  const of = (has: (feed: ReflectorState) => boolean) =>
    new Map(resources.map(({ resource, state }) => [resource, state !== undefined && has(state)]))
  const failures = resources.flatMap(({ resource }) => {
    // A failure before the discovery of the endpoints API counts for either of them.
    const either = resource === 'endpoints' ? apiFailures.present('endpointslices') : undefined
    const failure = apiFailures.present(resource) ?? either
    return failure === undefined ? [] : [[resource, failure] as const]
  })
  return {
    connected: of((feed) => feed.connected || feed.polled),
    synced: of((feed) => feed.listedAt !== undefined),
    apiFailures: new Map(failures),
    silence: apiFailures.present(PROBE.resource),
  }
}
