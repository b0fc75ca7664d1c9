import type { Bounds } from './log-reader.ts'

/** How much history a store keeps for watches and lists of the past. */
export interface Retention {
  readonly revisions: number
  /** Bytes of values. */
  readonly bytes: number
}

/** History is shortened when it is longer by a sixteenth, so that not every commit compacts. */
const EXCESS_DIVISOR = 16

/**
 * Decides when history becomes too long. Called after every group of commits;
 * measuring bytes reads the log, so it is done only when enough was written.
 */
export class RetentionRule {
  readonly #retention: Retention
  readonly #overflow: (oldest: number, bytes: number) => number | undefined
  /** Bytes written since the history was measured. */
  #unmeasured = 0

  /** `overflow` measures the history: `LogReader.overflow`. */
  constructor(
    retention: Retention,
    overflow: (oldest: number, bytes: number) => number | undefined,
  ) {
    this.#retention = retention
    this.#overflow = overflow
  }

  /** Counts bytes of values that a commit wrote. */
  wrote(bytes: number): void {
    this.#unmeasured += bytes
  }

  /** The revision up to which history is to be removed now; undefined when it is short enough. */
  due({ oldest, newest }: Bounds): number | undefined {
    const { revisions, bytes } = this.#retention
    if (newest - oldest > revisions + Math.ceil(revisions / EXCESS_DIVISOR))
      return newest - revisions
    if (this.#unmeasured <= bytes / EXCESS_DIVISOR) return undefined
    this.#unmeasured = 0
    const revision = this.#overflow(oldest, bytes)
    return revision === undefined ? undefined : Math.min(revision, newest - 1)
  }
}
