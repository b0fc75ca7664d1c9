import type { Bounds } from './log-reader.ts'

/** How much history a store keeps for watches and lists of the past. */
export interface Retention {
  readonly revisions: number
  /** Bytes of values. */
  readonly bytes: number
}

/** What is forgotten at once: a sixteenth, so that compaction is not paid at every commit. */
const SHARE = 16

/**
 * Decides when history becomes too long. Called after every group of commits;
 * measuring bytes reads the log, so it is done only when enough was written.
 */
export class RetentionRule {
  readonly #retention: Retention
  readonly #overflow: (oldest: number, bytes: number) => number | undefined
  #unmeasured = 0

  constructor(
    retention: Retention,
    overflow: (oldest: number, bytes: number) => number | undefined,
  ) {
    this.#retention = retention
    this.#overflow = overflow
  }

  wrote(bytes: number): void {
    this.#unmeasured += bytes
  }

  /** The revision up to which history is to be forgotten now; none when it is short enough. */
  due({ oldest, newest }: Bounds): number | undefined {
    const { revisions, bytes } = this.#retention
    if (newest - oldest > revisions + Math.ceil(revisions / SHARE)) return newest - revisions
    if (this.#unmeasured <= bytes / SHARE) return undefined
    this.#unmeasured = 0
    const revision = this.#overflow(oldest, bytes)
    return revision === undefined ? undefined : Math.min(revision, newest - 1)
  }
}
