import type { Clock } from '../../../lib/clock.ts'
import type { Health } from '../../../telemetry/health/health.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Metrics } from '../../../telemetry/metrics/metrics.ts'
import { HealthCheckPorts } from '../../servers/health-check-ports.ts'
import type { NodeEvents } from '../events/node-events.ts'
import { healthCheckBlocked, serviceReference } from '../events/warnings.ts'

export interface HealthChecksParts {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'healthCheckPorts'>
  readonly log: Logger
  readonly events: Pick<NodeEvents, 'warn'>
  readonly health: Pick<Health, 'report'>
}

/** The health check node ports of this node; those that cannot be served are told and counted. */
export function healthChecks(parts: HealthChecksParts): HealthCheckPorts {
  const { clock, metrics, log, events, health } = parts
  return new HealthCheckPorts({
    clock,
    healthy: () => health.report().healthy,
    onBlocked: (service, error) => {
      log.warn({ err: error, service }, 'a health check port is not served')
      events.warn(healthCheckBlocked(serviceReference(service), error.message))
    },
    onCount: (listening, blocked) => {
      metrics.healthCheckPorts.set({ state: 'listening' }, listening)
      metrics.healthCheckPorts.set({ state: 'blocked' }, blocked)
    },
  })
}
