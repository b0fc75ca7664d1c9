import type { Clock } from '../../lib/clock.ts'

/** An address family, as in labels and pages. */
export type FamilyName = 'IPv4' | 'IPv6'

export interface HealthOptions {
  readonly clock: Clock
  /** Families that this node serves. */
  readonly families: readonly FamilyName[]
  /** Milliseconds; read each time, because it may change. */
  readonly syncPeriod: () => number
  /**
   * The kernel had rules of an earlier process at the start. They serve until the first run
   * is done, so the node counts as healthy before it.
   */
  readonly inherited: boolean
}

/** The health of one address family. */
export interface FamilyHealth {
  /** Whether no change has waited for more than two sync periods. */
  readonly healthy: boolean
  /** Last success, ms since the epoch; undefined before the first. */
  readonly lastUpdated: number | undefined
  /** Since when the oldest change waits, ms since the epoch; undefined when all changes are in the kernel. */
  readonly waitingSince: number | undefined
}

/** The health of the node at one time. All times are milliseconds since the epoch. */
export interface HealthReport {
  readonly now: number
  /** Whether every change was written in time, in all families. */
  readonly healthy: boolean
  /** Whether this node can receive traffic: healthy, and a run has succeeded or there are rules of an earlier process. */
  readonly serving: boolean
  /** False while the node is being removed. */
  readonly nodeEligible: boolean
  /** `now` while healthy, otherwise the oldest last success of a family; undefined before each family had one. */
  readonly lastUpdated: number | undefined
  readonly status: ReadonlyMap<FamilyName, FamilyHealth>
  /** Why the last run wrote nothing; undefined after a successful one. */
  readonly failure: string | undefined
}

/**
 * Tracks whether the kernel keeps up with the cluster. The sync loop writes it;
 * /healthz, /livez and the health check node ports read it.
 */
export class Health {
  readonly #options: HealthOptions
  readonly #progress: ReadonlyMap<FamilyName, FamilyProgress>
  #nodeEligible = true
  #failure: string | undefined

  constructor(options: HealthOptions) {
    this.#options = options
    this.#progress = new Map(options.families.map((family) => [family, new FamilyProgress()]))
  }

  /** A change is waiting to be written. */
  queued(family?: FamilyName): void {
    this.#each(family, (progress) => progress.queued(this.#options.clock.now()))
  }

  /** A run began, which writes all changes queued so far. */
  begun(family?: FamilyName): void {
    this.#each(family, (progress) => progress.begun())
  }

  /** The run has written all its changes. */
  succeeded(family?: FamilyName): void {
    this.#failure = undefined
    this.#each(family, (progress) => progress.succeeded(this.#options.clock.now()))
  }

  /** The run wrote nothing because of `why`; its changes have waited since they were queued. */
  failed(why: string, family?: FamilyName): void {
    this.#failure = why
    this.#each(family, (progress) => progress.failed(this.#options.clock.now()))
  }

  /** False while the node is being removed: load balancers should leave it. */
  setNodeEligible(eligible: boolean): void {
    this.#nodeEligible = eligible
  }

  /** The health at present. */
  report(): HealthReport {
    const now = this.#options.clock.now()
    const oldest = now - 2 * this.#options.syncPeriod()
    const status = new Map<FamilyName, FamilyHealth>()
    for (const [family, progress] of this.#progress) {
      const { lastUpdated, waitingSince } = progress
      status.set(family, {
        lastUpdated,
        waitingSince,
        healthy: waitingSince === undefined || waitingSince >= oldest,
      })
    }
    const families = [...status.values()]
    const healthy = families.every((family) => family.healthy)
    const begun = families.every((family) => family.lastUpdated !== undefined)
    return {
      now,
      healthy,
      serving: healthy && (begun || this.#options.inherited),
      nodeEligible: this.#nodeEligible,
      lastUpdated: healthy && begun ? now : leastOf(families.map((family) => family.lastUpdated)),
      status,
      failure: this.#failure,
    }
  }

  #each(family: FamilyName | undefined, act: (progress: FamilyProgress) => void): void {
    for (const [name, progress] of this.#progress) {
      if (family === undefined || family === name) act(progress)
    }
  }
}

/** How long the oldest change of a family has waited at `now`, in milliseconds; 0 without any. */
export function waitedMs({ waitingSince }: FamilyHealth, now: number): number {
  return waitingSince === undefined ? 0 : Math.max(0, now - waitingSince)
}

function leastOf(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length < times.length || known.length === 0 ? undefined : Math.min(...known)
}

/** How far the kernel is behind for one address family. All times are milliseconds since the epoch. */
class FamilyProgress {
  #lastUpdated: number | undefined
  #queuedSince: number | undefined
  #runningSince: number | undefined

  /** The last success; undefined before the first one. */
  get lastUpdated(): number | undefined {
    return this.#lastUpdated
  }

  /** Since when the oldest change waits; undefined when all changes are in the kernel. */
  get waitingSince(): number | undefined {
    return this.#runningSince ?? this.#queuedSince
  }

  /** A change waits for the next run. */
  queued(now: number): void {
    this.#queuedSince ??= now
  }

  /** A run began, which writes all waiting changes. */
  begun(): void {
    this.#runningSince ??= this.#queuedSince
    this.#queuedSince = undefined
  }

  /** The run wrote all its changes. */
  succeeded(now: number): void {
    this.#lastUpdated = now
    this.#runningSince = undefined
  }

  /** The run wrote nothing: its changes wait on, or, without any, the repair that the run was for. */
  failed(now: number): void {
    this.#queuedSince = this.#runningSince ?? this.#queuedSince ?? now
    this.#runningSince = undefined
  }
}
