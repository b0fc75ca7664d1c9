/** What the owner of a lock reports about itself. It may come from any process: every text is quoted. */
export interface LockOwner {
  /** Process id in its own PID namespace. */
  readonly pid: number
  /** The PID namespace, for example `pid:[4026531836]`; empty if it cannot be read. */
  readonly pidNamespace: string
  /** When it took the lock, ISO 8601. */
  readonly since: string
  readonly version: string
  /** `daemon`, `--init-only` or `--cleanup`. */
  readonly task: string
  /** The proxy mode; empty if no mode is active. */
  readonly mode: string
  readonly command: string
}

/** What the kernel reports about the process that holds a lock. */
export interface LockHolder {
  /** Process id in our PID namespace; 0 if the process is not visible here. */
  readonly pid: number
  readonly uid: number
}

/** The result of trying to take a lock. */
export type LockAttempt =
  | { readonly kind: 'held'; readonly lock: OwnerLock }
  | {
      readonly kind: 'taken'
      /** Undefined if the holder gave no answer, or its answer was not that of a node-proxy. */
      readonly owner: LockOwner | undefined
      /** Undefined if this Node has no access to SO_PEERCRED. */
      readonly holder: LockHolder | undefined
    }

/** A lock that this process holds until it releases it or ends for any reason. */
export interface OwnerLock {
  /** Idempotent; afterwards another process can take the lock at once. */
  release(): void
}

/** One lock of the network namespace. */
export interface OwnerLocks {
  /** Takes the lock unless another process holds it; while it is held, `owner` is the answer to other processes. */
  attempt(owner: () => LockOwner): Promise<LockAttempt>
}
