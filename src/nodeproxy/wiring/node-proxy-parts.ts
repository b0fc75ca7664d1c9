import type { ApiClient } from '../../client/http/api-client.ts'
import type { RequestReporter } from '../../client/http/api-failures.ts'
import type { Clock } from '../../lib/clock.ts'
import type { KernelFacts } from '../../modes/netfilter/settings/settings.ts'
import type { Conditions } from '../../telemetry/health/conditions.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { Configuration } from './configuration.ts'
import type { Kernel } from './kernel/kernel.ts'
import type { LoopbackRouting } from './loopback-routing.ts'
import type { Modes } from './modes.ts'

/** The parts of the kernel that every mode needs. */
export type NodeKernel = Pick<
  Kernel,
  'families' | 'conntrack' | 'sysctl' | 'addresses' | 'listeners'
>

/** What a NodeProxy uses. */
export interface NodeProxyParts {
  readonly configuration: Pick<Configuration, 'current'>
  readonly modes: Pick<Modes, 'current' | 'others' | 'named'>
  readonly kernel: NodeKernel
  readonly client: ApiClient
  readonly nodeName: string
  readonly metrics: Metrics
  readonly conditions: Conditions
  readonly apiFailures: RequestReporter
  readonly loopback: LoopbackRouting
  readonly log: Logger
  readonly clock: Clock
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
}
