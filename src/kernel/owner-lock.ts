/** What the owner of a lock reports about itself. It may come from any process: every text is quoted. */
export interface LockOwner {
  /** In its own PID namespace. */
  readonly pid: number
  /** The PID namespace, as `pid:[4026531836]`; empty where it cannot be read. */
  readonly pidNamespace: string
  /** When it took the lock, ISO 8601. */
  readonly since: string
  readonly version: string
  /** `daemon`, `--init-only` or `--cleanup`. */
  readonly task: string
  /** The proxy mode; empty where there is none. */
  readonly mode: string
  readonly command: string
}

/** What the kernel reports about the process that holds a lock. */
export interface LockHolder {
  /** In our PID namespace; 0 when the process is not visible from here. */
  readonly pid: number
  readonly uid: number
}

/** The result of trying to take a lock. */
export type LockAttempt =
  | { readonly kind: 'held'; readonly lock: OwnerLock }
  | {
      readonly kind: 'taken'
      /** Undefined when the holder gave no answer, or not one of node-proxy. */
      readonly owner: LockOwner | undefined
      /** Undefined where this Node has no access to SO_PEERCRED. */
      readonly holder: LockHolder | undefined
    }

/** Held by this process until it is released or the process ends, however it ends. */
export interface OwnerLock {
  /** Idempotent; another process can take it at once. */
  release(): void
}

/** One lock of the network namespace. */
export interface OwnerLocks {
  /** Takes the lock unless another process holds it; `owner` is the answer to other processes meanwhile. */
  attempt(owner: () => LockOwner): Promise<LockAttempt>
}
