import type { ServiceKey, StaleFlows } from '../forwarding/entry.ts'
import type { Change, KernelError, ObjectKey, Program } from '../modes/mode.ts'
import type { DeltaTracker, Drift } from './delta-tracker.ts'
import type { NodeModel } from './node-model.ts'

/** A run that wrote, or had changes queued. */
export interface AppliedRun {
  /** When the run ended, in milliseconds since the epoch. */
  readonly at: number
  readonly durationMs: number
  readonly change: Change
  /** Objects of `change` that the kernel refused. */
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
}

/** What the loop reports to metrics, health and log. */
export interface SyncObserver {
  /** The oldest unwritten change was queued at `at`, in milliseconds since the epoch. */
  queued(at: number): void
  /** The run that has begun compiled these Services; they are not in the kernel yet. */
  compiled(services: readonly ServiceKey[]): void
  /** A run starts: it takes everything that was queued before it. */
  begun(): void
  /** A run that wrote, or had changes queued, or is the first without an error, has ended. */
  applied(run: AppliedRun): void
  /**
   * Another process changed objects of the mode; the run is about to repair them. `by`: what reported it, such
   * as `verification` or the source of a `ForeignChange`.
   */
  drifted(drift: readonly Drift[], by: string): void
  /** The kernel prints these objects otherwise than written; that form counts as equal from now on. */
  normalised(keys: readonly ObjectKey[]): void
  /** Reading or writing the kernel failed as a whole; the loop tries again. */
  failed(error: unknown): void
  /** `count` conntrack entries of removed backends were deleted. */
  flowsCut(count: number): void
  /** Deleting conntrack entries of removed backends failed; the loop tries again. */
  flowsFailed(error: unknown): void
}

/** What one run of the loop does. */
export interface Plan {
  /** The Services that were compiled for it. */
  readonly services: readonly ServiceKey[]
  /** What it writes. */
  readonly change: Change
  /** Frontends whose conntrack entries it deletes, except those to the backends that it names. */
  readonly flows: readonly StaleFlows[]
}

/** What a plan is computed from. The tracker has seen what the kernel holds. */
export interface PlanParts {
  readonly model: NodeModel
  readonly tracker: DeltaTracker
  readonly program: Pick<Program, 'takeChanges'>
}

/**
 * Compiles what changed, and compares what is wanted with what the kernel holds. The loop computes by this function
 * what it writes, and `node-proxy plan` what it would write. `now`: milliseconds since the epoch.
 */
export function planRun({ model, tracker, program }: PlanParts, now: number): Plan {
  const services = model.compile(now)
  tracker.want(program.takeChanges())
  return { services, change: tracker.pending(now), flows: model.takeStaleFlows() }
}
