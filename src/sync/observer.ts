import type { ServiceKey } from '../forwarding/entry.ts'
import type { Change, KernelError, ObjectKey } from '../modes/mode.ts'
import type { Drift } from './delta-tracker.ts'

export interface AppliedRun {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly durationMs: number
  readonly change: Change
  readonly failed: ReadonlyMap<ObjectKey, KernelError>
}

/** What the loop tells the outside world: metrics, health, logs. */
export interface SyncObserver {
  /** A change is waiting since `at`. */
  queued(at: number): void
  /** These Services were compiled; the kernel follows. */
  compiled(services: readonly ServiceKey[]): void
  /** The run has taken everything that was queued before it. */
  begun(): void
  applied(run: AppliedRun): void
  /** Somebody else changed our objects, and we are about to put that right. */
  drifted(drift: readonly Drift[], by: string): void
  /** The kernel prints these otherwise than we wrote them; taken as equal from now on. */
  respelled(keys: readonly ObjectKey[]): void
  /** The kernel could not be read or written at all; it is tried again. */
  failed(error: unknown): void
  flowsCut(count: number): void
  /** Conntrack entries of backends that are gone could not be deleted; it is tried again. */
  flowsFailed(error: unknown): void
}
