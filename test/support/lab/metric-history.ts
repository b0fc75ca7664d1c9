import { expect } from 'vitest'
import { PREFIX } from '../../../src/telemetry/metrics/registry.ts'
import type { Lab } from './lab.ts'
import { type Samples, sumOf } from './metrics.ts'

/** Metrics that describe and do not count: they need a sample, not a movement. */
const CONSTANT = ['build_info', 'mode_info', 'forwarder_workers', 'config_last_reload_successful']

/** A reading of counters that took a second on a busy machine serves for the hundred that follow. */
const TIMEOUT_MS = 110_000

/** Every value that each sample of a daemon had whenever it was looked at. */
export class MetricHistory {
  readonly #lab: () => Lab
  readonly #seen = new Map<string, Set<number>>()

  constructor(lab: () => Lab) {
    this.#lab = lab
  }

  async look(): Promise<Samples> {
    const samples = await this.#lab().daemon.metrics()
    for (const [name, value] of samples) {
      this.#seen.set(name, (this.#seen.get(name) ?? new Set()).add(value))
    }
    return samples
  }

  /** Looks until the sum of the metric `name`, without its prefix, is above `least`. */
  async until(name: string, least = 0): Promise<void> {
    const sum = async () => sumOf(await this.look(), PREFIX + name)
    await expect.poll(sum, { timeout: TIMEOUT_MS, message: name }).toBeGreaterThan(least)
  }

  /** Which of these metrics never had another value, and never one above 0. */
  unmoved(names: readonly string[]): readonly string[] {
    return names.filter((name) => !this.#hasMoved(name))
  }

  #hasMoved(name: string): boolean {
    return [...this.#seen].some(
      ([sample, values]) =>
        sample.replace(/\{.*/, '').replace(/_(?:bucket|sum|count)$/, '') === PREFIX + name &&
        (CONSTANT.includes(name) || values.size > 1 || [...values].some((value) => value > 0)),
    )
  }
}
