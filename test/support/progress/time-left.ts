/** One test file that has not ended yet. */
export interface PendingFile {
  readonly project: string
  /** How many files run at the same time, including this one. */
  readonly workers: number
  /** Duration in an earlier run, in milliseconds; undefined: none is recorded. */
  readonly recordedMs: number | undefined
}

/**
 * Milliseconds until all pending files have ended, if they take as long as before. A file without
 * a record counts as the mean of `known` files of its project; undefined where a project has none.
 */
export function timeLeft(
  pending: readonly PendingFile[],
  known: ReadonlyMap<string, readonly number[]>,
): number | undefined {
  let left = 0
  for (const { project, workers, recordedMs } of pending) {
    const duration = recordedMs ?? mean(known.get(project) ?? [])
    if (duration === undefined) return undefined
    left += duration / workers
  }
  return left
}

function mean(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
