import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Sysctl } from '../../kernel/sysctl.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import type { AnyField } from '../../settings/field.ts'
import type { Raw } from '../../settings/value-type.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Gap, MissingRequirement } from '../mode.ts'
import type { NetfilterAccess, RulesAccess } from '../netfilter/access.ts'
import type { NetfilterConfiguration } from '../netfilter/settings/configuration.ts'
import type { ModeDriver, Periods } from './mode-driver.ts'

/** The parts of this machine that every driver gets. A driver itself opens what only its own mode needs. */
export interface ModeHost {
  /** Whether this process may write to the kernel at all. */
  readonly rights: RulesAccess
  readonly netfilter: NetfilterAccess
  readonly families: readonly Family[]
  readonly sysctl: Sysctl
  /** A steady one: modes measure durations, such as how long a backend drains. */
  readonly clock: Clock
  readonly log: Logger
}

/** What `--cleanup` gives to each mode, once for every iptables variant of this machine. */
export interface CleanupHost {
  readonly iptables: Iptables
  readonly sets: Sets
  readonly clock: Clock
  readonly families: readonly Family[]
  readonly config: NetfilterConfiguration
}

/** Removes objects; rejects if something stays. */
export type Removal = () => Promise<void>

/** Values of the mode's fields that are each valid but cannot be combined. */
export interface ModeConflict {
  readonly paths: readonly [string, ...string[]]
  readonly message: string
}

/**
 * Everything that the daemon knows of one mode: the value that the mode's folder exports and that
 * the registry lists. `C` is the mode's own part of the configuration, for example
 * `{ ipvs: { … } }`; it holds `syncPeriod` and `minSyncPeriod` under the mode's name.
 * Data and light code only: the code that forwards is loaded when the driver prepares.
 */
export interface ModeDefinition<C = unknown> {
  /** The name in `mode` and `--proxy-mode`, and of the section with the mode's fields. */
  readonly name: string
  /** What the mode cannot do, as docs/semantics.md lists it. */
  readonly gaps: readonly Gap[]
  /** A field for every leaf of `C`, by path: files, flags, help and documents follow from it. */
  readonly fields: Readonly<Record<string, AnyField>>
  /** kube-proxy's defaults in this mode for fields of its file that are absent or empty, by path. */
  readonly kubeProxyDefaults?: Readonly<Record<string, Raw>>
  /**
   * The chain of this mode that protects 127.0.0.0/8. It shows that an older version, which kept no record, set
   * route_localnet.
   */
  readonly loopbackGuard?: string
  /** The same for a mode without iptables: whether its guard is in the kernel, from this run or an earlier one. */
  guardsLoopback?(clock: Clock): Promise<boolean>
  /** `syncPeriod` and `minSyncPeriod` of the mode's own section. */
  periods(config: C): Periods
  /** Conflicts between the mode's own fields. */
  conflicts(config: C): readonly ModeConflict[]
  /** What is missing regardless of the kernel; empty if the mode may work. Opens nothing. */
  requirements(config: C, access: RulesAccess): readonly MissingRequirement[]
  /** Opens nothing: `prepare` of the driver does. */
  createDriver(host: ModeHost): ModeDriver<C>
  /**
   * Removes every trace of the mode that one iptables variant holds, in stages: the daemon runs
   * each stage of every mode and variant before the next one.
   */
  cleanup(host: CleanupHost): readonly Removal[]
  /**
   * Removes what the mode writes without iptables, after all stages of `cleanup`; absent if there is nothing to
   * remove.
   */
  cleanupRest?(clock: Clock): Promise<void>
}
