import type { ApiClient } from '../../client/api-client.ts'
import { systemClock as clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { systemRandom as random } from '../../lib/random.ts'
import { detectExtensions, probeIptables } from '../../modes/iptables/probe.ts'
import type { NetfilterSettings } from '../../modes/netfilter/settings.ts'
import { sampleEventLoopDelay } from '../../telemetry/event-loop-delay.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { createMetrics } from '../../telemetry/metrics/metrics.ts'
import { createClusterWatcher } from '../../watch/cluster-watcher.ts'
import type { WatchProblem } from '../../watch/problem.ts'
import type { Launch } from '../program.ts'
import { startStatusServers } from '../servers/status-servers.ts'
import { Configuration } from './configuration.ts'
import type { Kernel } from './kernel.ts'
import { netfilterSettings } from './netfilter-settings.ts'
import { NodeProxy } from './node-proxy.ts'
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
export async function runNode({ launch, kernel, client, nodeName }: NodeParts): Promise<RunningNode> {
  const { log, version } = launch
  const metrics = createMetrics()
  metrics.buildInfo.set({ version, node_version: process.version }, 1)
  metrics.modeInfo.set({ mode: 'iptables', backend: kernel.iptables.backend }, 1)
  const facts = { families: kernel.families, ...(await detectExtensions(kernel)) }
  log.info(facts, 'what this kernel can do')
  await demand(kernel, netfilterSettings(launch.config, undefined, facts), log)
  const configuration = new Configuration({ launch, clock, metrics })
  const parts = { configuration, kernel, client, nodeName, metrics, log, clock, facts }
  const proxy = await NodeProxy.create(parts)
  const watcher = createClusterWatcher({
    ...{ client, clock, random, nodeName },
    proxyName: launch.config.proxyName === '' ? undefined : launch.config.proxyName,
    onEvents: (events) => proxy.take(events, () => watcher.state()),
    onSynced: () => proxy.start(),
    onProblem: (problem) => tellProblem(launch, problem),
  })
  const servers = await startStatusServers({
    config: launch.config,
    sources: statusPages({ proxy, metrics, configuration, watch: () => watcher.state() }),
    clock,
    onBlocked: (error) => log.warn({ err: error }, 'a page is not served yet'),
    onError: (error) => log.error({ err: error }, 'a page failed'),
  })
  const stop = new AbortController()
  const watching = watcher.run(stop.signal)
  const stopSampling = sampleEventLoopDelay(metrics.eventLoopDelay)
  configuration.follow(() => proxy.reconfigure())
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
  throw new NodeProxyError(MISSING, `this kernel lacks ${missing.length} things that iptables mode needs`, {
    hint: missing.map(({ remedy }) => remedy).join('; '),
  })
}

/** An object of the API that cannot be used; nothing else is harmed by it. */
function tellProblem({ log }: Launch, { resource, key, kind, problems }: WatchProblem): void {
  const details = problems.slice(0, 5).map(({ field, value, message }) => `${field} ${value}: ${message}`)
  log.warn({ resource, object: key, kind, problems: details }, 'an object is wrong')
}
