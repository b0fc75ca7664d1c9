import type { MissingRequirement, Mode, ObjectKey } from '../mode.ts'
import type { NetfilterConfiguration } from '../netfilter/settings/configuration.ts'
import type { ModeInputs } from '../netfilter/settings/settings.ts'
import type { ModeReview, ModeView } from './mode-view.ts'

/** What a mode that does not forward any more may still have in the kernel; see `Mode.drainAndCleanup`. */
export interface PendingCleanup {
  drainAndCleanup(signal: AbortSignal): Promise<void>
  /** Number of backends that keep old connections; absent if the mode cannot drain. */
  readonly draining?: number
}

/** What `prepare` found: `Probe`, with a code for each missing requirement. */
export interface Readiness {
  /** Empty: the mode can work. */
  readonly missing: readonly MissingRequirement[]
  /**
   * Reasons for `auto` to choose another mode if one works; warnings if this mode is configured. Absent if there are
   * no such reasons.
   */
  readonly caveats?: readonly MissingRequirement[]
  /** For the log. */
  readonly facts: Readonly<Record<string, unknown>>
}

/** Milliseconds; see the fields of the same names in the documentation of the configuration. */
export interface Periods {
  readonly syncPeriod: number
  readonly minSyncPeriod: number
}

/**
 * One mode in this daemon, whether it forwards at the moment or not: opens what the mode needs of
 * the machine, probes the kernel, and builds instances of the mode. The daemon has one driver for
 * each mode, and builds from one of them at a time.
 * `C` is the mode's own part of the configuration.
 */
export interface ModeDriver<C = unknown> {
  readonly name: string
  /**
   * The mode that the daemon leaves to the kernel when it stops, because the rules of this mode do not forward without a
   * process. Absent: they do, or no other mode can serve in its place.
   */
  readonly standIn?: string | undefined
  periods(config: C): Periods
  /** The values of the configuration on which readiness depends, as plain data: when they change, the daemon prepares again. */
  demands(config: NetfilterConfiguration & C): unknown
  /**
   * Opens and loads what only this mode needs, and tests whether the kernel supports it. Programs nothing. If
   * something is missing, it closes what it opened.
   */
  prepare(inputs: ModeInputs<C>): Promise<Readiness>
  /** What to build for these inputs. Throws TypeError unless `prepare` has found nothing missing. */
  spec(inputs: ModeInputs<C>): ModeSpec
  /** Sets the sysctls that mode and configuration need; called again after every change of the configuration. */
  tune(config: NetfilterConfiguration & C): void
  /** A read-only view of the mode for these inputs: nothing is prepared, probed, loaded or written. */
  view(inputs: ModeInputs<C>): Promise<ModeView>
  /**
   * The rules that must be in the kernel before route_localnet is 1, because other hosts could reach
   * 127.0.0.0/8 without them; undefined: the mode does not need route_localnet.
   */
  loopbackGuards(config: NetfilterConfiguration & C): readonly ObjectKey[] | undefined
  /** Whether an earlier run left objects in the kernel that still forward. */
  isServing(): Promise<boolean>
  /** Removes what an earlier run may have left; undefined where this kernel never had the mode. */
  leftovers(inputs: () => ModeInputs<C>): PendingCleanup | undefined
  /** Called after the kernel refused something: checks whether a kernel setting or module that the mode needs is gone, and restores it. */
  recover(config: NetfilterConfiguration & C): Promise<void>
  /** Conditions (health reasons) that only this mode has; absent if it has none. */
  readonly review?: ModeReview<C>
  /** Closes what `prepare` opened. */
  close(): Promise<void>
}

/** What one instance of a mode is built from. When it changes, the daemon replaces the instance. */
export interface ModeSpec {
  /** Name of the mode. */
  readonly mode: string
  /** Compared by value, so it must be plain data. */
  readonly settings: unknown
  /** Minimum time between two changes of the kernel, in milliseconds. */
  readonly minPeriodMs: number
  /** Milliseconds after which everything is read back and compared. */
  readonly verifyPeriodMs: number
  /** Not compared. */
  build(): Mode
}
