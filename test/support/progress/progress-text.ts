/** The progress of a test run. */
export interface Progress {
  /** Projects whose files run now. */
  readonly projects: readonly string[]
  readonly done: number
  readonly total: number
  readonly failed: number
  /** Undefined: it cannot be estimated yet. */
  readonly leftMs: number | undefined
}

/** One line, for example `kernel, ipvs: 120 of 702 files, 2 failed, about 9 min left`. */
export function progressText({ projects, done, total, failed, leftMs }: Progress): string {
  return [
    `${projects.join(', ') || 'starting'}: ${done} of ${total} files`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(leftMs === undefined ? [] : [`about ${duration(leftMs)} left`]),
  ].join(', ')
}

function duration(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1000))
  return seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`
}
