import type { ApiClient } from '../../client/http/api-client.ts'
import { ApiFailures } from '../../client/http/failure/api-failures.ts'
import { causeOf } from '../../client/http/failure/failure.ts'
import { systemClock as clock } from '../../lib/clock.ts'
import type { NodeProxyError } from '../../lib/error.ts'
import { systemRandom as random } from '../../lib/random.ts'
import { sampleEventLoopDelay } from '../../telemetry/event-loop-delay.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import { createClusterWatcher } from '../../watch/cluster-watcher.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import type { Launch } from '../config/launch.ts'
import { watchProxies } from '../foreign-proxies/watch-proxies.ts'
import { type StatusPage, startStatusServers } from '../servers/status-servers.ts'
import { Configuration } from './configuration/configuration.ts'
import { startInspection } from './inspection/start-inspection.ts'
import type { Kernel } from './kernel/kernel.ts'
import type { LoopbackRouting } from './loopback/loopback-routing.ts'
import type { OpenModes } from './modes/open-modes.ts'
import { NodeProxy } from './node-proxy.ts'
import type { Ownership } from './ownership/take-ownership.ts'
import { applyProcessSettings } from './startup/process-settings.ts'
import { type StatusParts, statusPages } from './status-pages.ts'
import { TrafficCounters } from './traffic/traffic-counters.ts'

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
  const proxy = await NodeProxy.create({ ...parts, ...shared, kernel, log, clock })
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
  readonly kernel: Pick<Kernel, 'families' | 'traces'>
  readonly backend: StatusParts['backend']
}

/** Opens the status pages, and watches the cluster and the configuration file. */
async function follow(
  { launch, client, nodeName }: Pick<NodeParts, 'launch' | 'client' | 'nodeName'>,
  parts: Parts,
): Promise<RunningNode> {
  const { log, config } = launch
  const { proxy, configuration, conditions, metrics, kernel, apiFailures: reporter } = parts
  const watcher = createClusterWatcher({
    ...{ client, clock, random, nodeName, reporter },
    proxyName: config.proxyName === '' ? undefined : config.proxyName,
    onEvents: (events) => proxy.take(events, () => watcher.state()),
    onSynced: () => proxy.start(),
    onProblem: (problem) => proxy.takeProblem(problem),
    onRangesRefused: (failure) => {
      if (configuration.current.serviceCIDRs.length > 0) return
      log.info({ cause: causeOf(failure) }, RANGES_UNKNOWN)
    },
  })
  const traffic = new TrafficCounters({ clock, mode: () => proxy.running?.mode })
  const sources = statusPages({ ...parts, traffic, watch: () => watcher.state() })
  const servers = await startStatusServers({
    config,
    sources,
    clock,
    ...pageConditions(conditions),
    onError: (error) => log.error({ err: error }, 'answering a request for a status page failed'),
  })
  const stopLooking = watchProxies({
    ...{ ...kernel, conditions, clock, log },
    heldPorts: () => servers.waitingPorts,
  })
  const inspection = await startInspection({
    ...{ launch, client, nodeName, proxy, conditions, traffic, pages: sources },
  })
  const stop = new AbortController()
  const watching = watcher.run(stop.signal)
  const stopSampling = sampleEventLoopDelay(metrics.eventLoopDelay)
  let before = config
  configuration.follow(() => {
    void applyProcessSettings(configuration.current, { log, before })
    before = configuration.current
    proxy.reconfigure()
  })
  return {
    reread: () => configuration.reread(),
    async close() {
      stop.abort()
      stopSampling()
      stopLooking()
      configuration.close()
      await Promise.all([watching, servers.close(), inspection.close(), proxy.stop()])
    },
  }
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
