import type { MissingRequirement, ObjectKey } from '../mode.ts'
import type { NetfilterConfiguration } from '../netfilter/settings/configuration.ts'
import type { ModeInputs } from '../netfilter/settings/mode-inputs.ts'
import type { ModeReview } from './mode-review.ts'
import type { ModeSpec } from './mode-spec.ts'
import type { PendingCleanup } from './pending-cleanup.ts'

export interface Readiness {
  /** Empty: the mode can work. */
  readonly missing: readonly MissingRequirement[]
  /** For the log. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Milliseconds; see the fields of the same names in the documentation of the configuration. */
export interface Periods {
  readonly syncPeriod: number
  readonly minSyncPeriod: number
}

/**
 * One mode in this daemon, at work or not: opens what the mode needs, and says what it finds.
 * `C` is the mode's own part of the configuration.
 */
export interface ModeDriver<C = unknown> {
  readonly name: string
  periods(config: C): Periods
  /** What readiness depends on in the configuration: plain data. */
  demands(config: NetfilterConfiguration & C): unknown
  /**
   * Opens and loads what only this mode needs, and tries whether the kernel can do
   * it. Programs nothing. Where something is missing it closes again what it opened.
   */
  prepare(inputs: ModeInputs<C>): Promise<Readiness>
  /** Once it is ready. */
  spec(inputs: ModeInputs<C>): ModeSpec
  /** Sets the kernel settings that mode and configuration need; again after every change. */
  tune(config: NetfilterConfiguration & C): void
  /** The rules that must stand before loopback is routed; undefined: the mode does not route it. */
  loopbackGuards(config: NetfilterConfiguration & C): readonly ObjectKey[] | undefined
  /** Whether an earlier run left something that serves. */
  isServing(): Promise<boolean>
  /** Removes what an earlier run may have left; undefined where this kernel never had the mode. */
  leftovers(inputs: () => ModeInputs<C>): PendingCleanup | undefined
  /** The kernel refused something: checks whether it lost what the mode needs, and restores it. */
  recover(config: NetfilterConfiguration & C): Promise<void>
  /** Lasting states of this mode alone that an operator must know of. */
  readonly review?: ModeReview<C>
  /** Closes what `prepare` opened. */
  close(): Promise<void>
}
