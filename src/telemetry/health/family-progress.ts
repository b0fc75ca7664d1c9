/** An address family, as in labels and pages. */
export type FamilyName = 'IPv4' | 'IPv6'

/** How far the kernel is behind for one address family. All times are milliseconds since the epoch. */
export class FamilyProgress {
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
