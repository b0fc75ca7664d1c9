import type { ApiClient } from '../../client/api-client.ts'
import { systemClock as clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { systemRandom as random } from '../../lib/random.ts'
import { detectExtensions, probeIptables } from '../../modes/iptables/probe.ts'
import type { NetfilterSettings } from '../../modes/netfilter/settings.ts'
import { sampleEventLoopDelay } from '../../telemetry/event-loop-delay.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createMetrics, type Metrics } from '../../telemetry/metrics/metrics.ts'
import { createClusterWatcher } from '../../watch/cluster-watcher.ts'
import type { Launch } from '../program.ts'
import { startStatusServers } from '../servers/status-servers.ts'
import { Configuration } from './configuration.ts'
import type { Kernel } from './kernel.ts'
import { netfilterSettings } from './netfilter-settings.ts'
import { NodeProxy } from './node-proxy.ts'
import { applyProcessSettings } from './process-settings.ts'
import { statusPages } from './status-pages.ts'

const MISSING = 'NP_IPTABLES_KERNEL'

export interface NodeParts {
  readonly launch: Launch
  readonly kernel: Kernel
  readonly client: ApiClient
  readonly nodeName: string
}

export interface RunningNode {
  /** Reads the configuration file again, as SIGHUP asks. */
  reread(): void
  close(): Promise<void>
}

/** Starts everything that lives as long as the daemon, and says how to end it. */
export async function runNode({
  launch,
  kernel,
  client,
  nodeName,
}: NodeParts): Promise<RunningNode> {
  const { log, version } = launch
  const metrics = createMetrics()
  metrics.buildInfo.set({ version, node_version: process.version }, 1)
  metrics.modeInfo.set({ mode: 'iptables', backend: kernel.iptables.backend }, 1)
  const facts = { families: kernel.families, ...(await detectExtensions(kernel)) }
  log.info(facts, 'what this kernel can do')
  await demand(
    kernel,
    netfilterSettings(launch.config, undefined, { ...facts, routesLocalnet: false }),
    log,
  )
  const configuration = new Configuration({ launch, clock, metrics })
  const parts = { configuration, kernel, client, nodeName, metrics, log, clock, facts }
  const proxy = await NodeProxy.create(parts)
  try {
    return await follow({ launch, client, nodeName }, { proxy, configuration, metrics })
  } catch (error) {
    await proxy.stop()
    throw error
  }
}

interface Parts {
  readonly proxy: NodeProxy
  readonly configuration: Configuration
  readonly metrics: Metrics
}

/** Opens the pages, the watch on the cluster and that on the configuration file. */
async function follow(
  { launch, client, nodeName }: Omit<NodeParts, 'kernel'>,
  { proxy, configuration, metrics }: Parts,
): Promise<RunningNode> {
  const { log, config } = launch
  const watcher = createClusterWatcher({
    ...{ client, clock, random, nodeName },
    proxyName: config.proxyName === '' ? undefined : config.proxyName,
    onEvents: (events) => proxy.take(events, () => watcher.state()),
    onSynced: () => proxy.start(),
    onProblem: (problem) => proxy.takeProblem(problem),
  })
  const servers = await startStatusServers({
    config,
    sources: statusPages({ proxy, metrics, configuration, watch: () => watcher.state() }),
    clock,
    onBlocked: (error) => log.warn({ err: error }, 'a page is not served yet'),
    onError: (error) => log.error({ err: error }, 'a page failed'),
  })
  const stop = new AbortController()
  const watching = watcher.run(stop.signal)
  const stopSampling = sampleEventLoopDelay(metrics.eventLoopDelay)
  configuration.follow(() => {
    void applyProcessSettings(configuration.current, log)
    proxy.reconfigure()
  })
  return {
    reread: () => configuration.reread(),
    async close() {
      stop.abort()
      stopSampling()
      configuration.close()
      await Promise.all([watching, servers.close(), proxy.stop()])
    },
  }
}

/** Stops before anything is programmed when this kernel cannot do what every Service needs. */
async function demand(kernel: Kernel, settings: NetfilterSettings, log: Logger): Promise<void> {
  const { missing } = await probeIptables(kernel, settings)
  for (const { what, remedy } of missing) log.error({ code: MISSING, remedy }, what)
  if (missing.length === 0) return
  throw new NodeProxyError(
    MISSING,
    `this kernel lacks ${missing.length} things that iptables mode needs`,
    {
      hint: missing.map(({ remedy }) => remedy).join('; '),
    },
  )
}
