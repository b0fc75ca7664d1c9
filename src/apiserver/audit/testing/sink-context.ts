import type { Clock } from '../../../lib/clock.ts'
import type { FailureRecord } from '../../../telemetry/failure-log.ts'
import type { SinkContext } from '../sinks/buffered-sink.ts'

/** What a sink works with, and what it counted and logged. */
export interface Observed extends SinkContext {
  readonly dropped: readonly number[]
  readonly failed: readonly string[]
  readonly logged: readonly FailureRecord[]
}

/** The shortest delays of retries: a half of each. */
export function sinkContext(clock: Clock): Observed {
  const dropped: number[] = []
  const failed: string[] = []
  const logged: FailureRecord[] = []
  return {
    clock,
    random: { below: () => 0 },
    observer: {
      dropped: (_sink, events) => void dropped.push(events),
      failed: (sink) => void failed.push(sink),
    },
    failures: { report: (_kind, record) => void logged.push(record) },
    dropped,
    failed,
    logged,
  }
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
