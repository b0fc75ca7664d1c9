import type { ClusterStore } from '../../cluster/cluster-store.ts'
import { healthCheckOf } from '../../forwarding/health-check.ts'
import type { NodeContext } from '../../forwarding/node-context.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Family, familyOf, type IpAddress } from '../../lib/ip.ts'
import { isInScope, type NodePortScope } from '../../modes/netfilter/settings/node-port-scope.ts'
import type { ServiceKey } from '../../resources/types.ts'
import type { Health } from '../../telemetry/health/health.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { NodeEvents } from '../events/node-events.ts'
import { healthCheckBlocked, serviceReference } from '../events/warnings.ts'
import { HealthCheckPorts } from './health-check-ports.ts'

/** What `HealthChecks` uses. */
export interface HealthChecksParts {
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'healthCheckPorts'>
  readonly log: Logger
  readonly events: Pick<NodeEvents, 'warn'>
  readonly health: Pick<Health, 'report'>
  readonly families: readonly Family[]
  readonly store: ClusterStore
  readonly node: HealthCheckNode
}

/** The present state of this node, as far as health checks depend on it. */
export interface HealthCheckNode {
  readonly nodePortScope: NodePortScope
  readonly localAddresses: readonly IpAddress[]
  readonly context: NodeContext
}

/** Serves the health check node ports of this node; logs, counts and reports those it cannot serve. */
export class HealthChecks {
  readonly #parts: HealthChecksParts
  readonly #ports: HealthCheckPorts

  constructor(parts: HealthChecksParts) {
    this.#parts = parts
    this.#ports = healthCheckPorts(parts)
  }

  /** Opens and closes sockets after a change of node, addresses or configuration. */
  updateListeners(): void {
    const { node, families } = this.#parts
    const addresses = { local: node.localAddresses, families }
    void this.#ports.setAddresses(healthCheckAddresses(node.nodePortScope, addresses))
  }

  /** Serves the ports of Services that were compiled again as they are now. */
  replace(services: readonly ServiceKey[]): void {
    const { store, node } = this.#parts
    const { context } = node
    for (const key of services) void this.#ports.replace(key, healthCheckOf(key, store, context))
  }

  close(): Promise<void> {
    return this.#ports.close()
  }
}

function healthCheckPorts(parts: HealthChecksParts): HealthCheckPorts {
  const { clock, metrics, log, events, health } = parts
  return new HealthCheckPorts({
    clock,
    healthy: () => health.report().healthy,
    onBlocked: (service, error) => {
      log.warn({ err: error, service }, 'the health check node port of a Service is not served')
      events.warn(healthCheckBlocked(serviceReference(service), error.message))
    },
    onCount: (listening, blocked) => {
      metrics.healthCheckPorts.set({ state: 'listening' }, listening)
      metrics.healthCheckPorts.set({ state: 'blocked' }, blocked)
    },
  })
}

/** The addresses of this node. */
interface ListeningNode {
  /** The addresses of its interfaces. */
  readonly local: readonly IpAddress[]
  readonly families: readonly Family[]
}

/**
 * The addresses on which health check node ports listen: like node ports, all addresses (`0.0.0.0`, `::`), or
 * those of the interfaces that are in scope. An address that only the Node object has, such as that of a
 * NAT gateway, is left out, because no socket can listen on it.
 */
export function healthCheckAddresses(
  scope: NodePortScope,
  { local, families }: ListeningNode,
): readonly IpAddress[] {
  if (scope.kind === 'all') {
    return families.map((family) => (family === 6 ? '::' : '0.0.0.0') as IpAddress)
  }
  const inside = local.filter((ip) => families.includes(familyOf(ip)) && isInScope(scope, ip))
  return [...new Set(inside)]
}
