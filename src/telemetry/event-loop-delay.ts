import type { Metrics } from './metrics/metrics.ts'

/** Milliseconds on a clock that never jumps. */
export type Stopwatch = () => number

const EVERY_MS = 500

/**
 * Observes, twice a second, by how much a timer was late: what any other work
 * would have waited at that moment. The returned function stops this. The timer does not keep the process alive.
 */
export function sampleEventLoopDelay(
  metric: Pick<Metrics['eventLoopDelay'], 'observe'>,
  now: Stopwatch = () => performance.now(),
): () => void {
  let due = now() + EVERY_MS
  const timer = setInterval(() => {
    const at = now()
    metric.observe(Math.max(0, at - due) / 1_000)
    due = at + EVERY_MS
  }, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
