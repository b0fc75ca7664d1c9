/** A mode that is not at work and may hold something in the kernel; see `Mode.drainAndCleanup`. */
export interface PendingCleanup {
  drainAndCleanup(signal: AbortSignal): Promise<void>
  /** Backends that get nothing new and keep their connections; absent: the mode knows none. */
  readonly draining?: number
}
