import type { Service, ServiceKey } from '../../../resources/types.ts'
import type { Conditions } from '../../../telemetry/health/conditions.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { Engine, Running } from '../engine/engine.ts'
import type { Modes } from '../modes/modes.ts'
import { describeRules } from '../observation/first-rules.ts'
import { reviewKernelErrors } from './kernel-errors.ts'
import { reviewNode } from './node-conditions.ts'

/** What `Reviews` reads. */
export interface ReviewsParts {
  readonly configuration: Pick<Configuration, 'current'>
  readonly modes: Pick<Modes, 'current' | 'others'>
  readonly nodeName: string
  readonly conditions: Conditions
  readonly log: Pick<Logger, 'info'>
  readonly engine: () => Pick<Engine, 'running'> & {
    readonly store: Pick<Engine['store'], 'node' | 'service' | 'serviceCIDRs' | 'counts'>
  }
}

/** Raises and clears conditions as configuration, cluster and kernel change. */
export class Reviews {
  readonly #parts: ReviewsParts
  #isComplete = false

  constructor(parts: ReviewsParts) {
    this.#parts = parts
  }

  /** The Node object or the configuration changed. Does nothing until the cluster is listed. */
  node(): void {
    const { configuration, conditions, nodeName, engine } = this.#parts
    const { running, store } = engine()
    if (running === undefined) return
    const { serviceCIDRs } = store
    const node = store.node(nodeName)
    reviewNode(conditions, { config: configuration.current, nodeName, node, serviceCIDRs })
  }

  /** Services or the configuration changed. */
  services(): void {
    const { configuration, conditions, modes } = this.#parts
    const { running, store } = this.#parts.engine()
    if (running === undefined) return
    const config = configuration.current
    const serviceOf = (key: ServiceKey): Service | undefined => store.service(key)
    for (const { name, review } of [modes.current, ...modes.others]) {
      review?.services(conditions, { config, isAtWork: name === running.mode.name, serviceOf })
    }
  }

  /** A run of the sync loop ended. */
  applied(): void {
    const { conditions, modes, engine } = this.#parts
    const { running } = engine()
    if (running === undefined) return
    const reviews = [modes.current, ...modes.others].flatMap(({ review }) => review ?? [])
    reviewKernelErrors(conditions, reviews, running.tracker.failures())
  }

  /** A mode has all objects in the kernel; the first time is logged. */
  completed(): void {
    const { running, store } = this.#parts.engine()
    if (running === undefined || this.#isComplete) return
    this.#isComplete = true
    this.#log(running, store.counts.services)
  }

  #log(running: Running, services: number): void {
    const secondsSinceStart = Number(process.uptime().toFixed(3))
    const facts = { ...describeRules(running, services), secondsSinceStart }
    this.#parts.log.info(facts, 'the rules are in the kernel for the first time')
  }
}
