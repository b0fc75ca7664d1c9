import type { ServiceKey, StaleFlows } from '../forwarding/entry.ts'
import type { Change, Program } from '../modes/mode.ts'
import type { DeltaTracker } from './delta-tracker.ts'
import type { NodeModel } from './node-model.ts'

/** What one run of the loop does. */
export interface Plan {
  /** The Services that were compiled for it. */
  readonly services: readonly ServiceKey[]
  /** What it writes. */
  readonly change: Change
  /** Frontends whose conntrack entries it deletes, except those to the backends that it names. */
  readonly flows: readonly StaleFlows[]
}

/** The inputs of a plan. The tracker has seen what the kernel holds. */
export interface PlanParts {
  readonly model: NodeModel
  readonly tracker: DeltaTracker
  readonly program: Pick<Program, 'takeChanges'>
}

/**
 * Compiles what changed, and compares what is wanted with what the kernel holds. The loop uses this function for what
 * it writes, and `node-proxy plan` for what it would write. `now`: milliseconds since the epoch.
 */
export function planRun({ model, tracker, program }: PlanParts, now: number): Plan {
  const services = model.compile(now)
  tracker.want(program.takeChanges())
  return { services, change: tracker.pending(now), flows: model.takeStaleFlows() }
}
