import type { LockAttempt, LockHolder, LockOwner, OwnerLocks } from '../owner-lock.ts'

/** A lock that a test gives to another process and takes away from it. */
export class FakeLocks implements OwnerLocks {
  /** Held by another process: what it answers, and what the kernel knows of it. */
  other:
    | { readonly owner: LockOwner | undefined; readonly holder: LockHolder | undefined }
    | undefined
  /** What the owner in this process answers; undefined: it holds nothing. */
  own: (() => LockOwner) | undefined
  attempts = 0

  async attempt(owner: () => LockOwner): Promise<LockAttempt> {
    this.attempts++
    if (this.other !== undefined) return { kind: 'taken', ...this.other }
    if (this.own !== undefined) return { kind: 'taken', owner: this.own(), holder: undefined }
    this.own = owner
    return { kind: 'held', lock: { release: () => (this.own = undefined) } }
  }
}
