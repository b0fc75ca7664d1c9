export type FamilyName = 'IPv4' | 'IPv6'

/** How far one address family is behind: changes waiting, changes being written, last success. */
export class FamilyProgress {
  #lastUpdated: number | undefined
  #queuedSince: number | undefined
  #runningSince: number | undefined

  get lastUpdated(): number | undefined {
    return this.#lastUpdated
  }

  /** Since when the oldest change waits; undefined when the kernel holds everything. */
  get waitingSince(): number | undefined {
    return this.#runningSince ?? this.#queuedSince
  }

  queued(now: number): void {
    this.#queuedSince ??= now
  }

  begun(): void {
    this.#runningSince ??= this.#queuedSince
    this.#queuedSince = undefined
  }

  succeeded(now: number): void {
    this.#lastUpdated = now
    this.#runningSince = undefined
  }

  /** What was to be written waits, and at least what the run itself found to be repaired. */
  failed(now: number): void {
    this.#queuedSince = this.#runningSince ?? this.#queuedSince ?? now
    this.#runningSince = undefined
  }
}
