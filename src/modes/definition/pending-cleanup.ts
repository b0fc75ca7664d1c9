/** What a mode that does not forward any more may still have in the kernel; see `Mode.drainAndCleanup`. */
export interface PendingCleanup {
  drainAndCleanup(signal: AbortSignal): Promise<void>
  /** Number of backends that keep old connections; absent: the mode has no such state. */
  readonly draining?: number
}
