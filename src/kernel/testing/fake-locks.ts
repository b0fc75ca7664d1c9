import type { LockAttempt, LockHolder, LockOwner, OwnerLocks } from '../owner-lock.ts'

/** A lock that a test gives to another process and takes away from it. */
export class FakeLocks implements OwnerLocks {
  /** Set while another process holds the lock: its answer, and what the kernel reports about it. */
  other:
    | { readonly owner: LockOwner | undefined; readonly holder: LockHolder | undefined }
    | undefined
  /** The answer of the owner in this process; undefined if it does not hold the lock. */
  ownerHere: (() => LockOwner) | undefined
  attempts = 0

  async attempt(owner: () => LockOwner): Promise<LockAttempt> {
    this.attempts++
    if (this.other !== undefined) return { kind: 'taken', ...this.other }
    if (this.ownerHere !== undefined)
      return { kind: 'taken', owner: this.ownerHere(), holder: undefined }
    this.ownerHere = owner
    return { kind: 'held', lock: { release: () => (this.ownerHere = undefined) } }
  }
}
