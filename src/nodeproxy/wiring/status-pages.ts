import type { ApiFailures } from '../../client/http/failure/api-failures.ts'
import type { IptablesVariant } from '../../kernel/iptables/iptables.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import { assessReadiness } from '../../telemetry/health/readiness.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { WatchState } from '../../watch/cluster-watcher.ts'
import type { PageSources } from '../servers/pages.ts'
import type { Configuration } from './configuration/configuration.ts'
import type { NodeProxy } from './node-proxy.ts'
import { refreshGauges } from './observation/gauges.ts'
import { watchReadiness } from './observation/watch-readiness.ts'
import { ServiceTrafficGauges } from './traffic/service-traffic-gauges.ts'
import type { TrafficCounters } from './traffic/traffic-counters.ts'

/** What the status pages read. */
export interface StatusParts {
  readonly proxy: NodeProxy
  readonly metrics: Metrics
  readonly configuration: Configuration
  readonly conditions: Pick<Conditions, 'current'>
  readonly apiFailures: Pick<ApiFailures, 'describe'>
  /** The iptables variant; `none`: there is no iptables, or no right to use it. */
  readonly backend: IptablesVariant | 'none'
  readonly watch: () => WatchState
  readonly traffic: Pick<TrafficCounters, 'totals'>
}

/** The sources of the daemon's status pages, which are read at each request. */
export function statusPages({ watch, traffic, ...parts }: StatusParts): PageSources {
  const { proxy, metrics, configuration, conditions, apiFailures, backend } = parts
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
          watch: state,
          changeTimes: proxy.changeTimes,
          health: proxy.health.report(),
          mode: { name: proxy.modeName, backend, draining: proxy.draining },
        })
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
